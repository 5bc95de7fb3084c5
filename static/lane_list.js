// The form's list of lanes. Gradio runs this text once, with `element`, `props` and `watch`; the
// value is a list of texts such as "ar" and "gsd:G=50;d=0.3", and what is typed is checked when the
// race starts.

import { make } from "./dom.js";

const decoders = props.decoders;
const list = element.querySelector("ol");
const more = element.querySelector(".lane-more");
const SWITCH = { true: "on", false: "off" };
/** @type {ListedLane[]} */
let lanes = [];
let fields = 0; // made so far: each has an id of its own

/** @returns {ListedLane} */
function parseLane(text) {
  const [name, ...rest] = text.split(":");
  const pairs = rest.join(":").split(";").filter(Boolean);
  const knobs = Object.fromEntries(pairs.map((pair) => pair.split("=")));
  return { decoder: decoders.find((decoder) => decoder.name === name), knobs };
}

const isDefault = (knob, text) =>
  text === knob.default || (!knob.choices.length && text !== "" && Number(text) === +knob.default);

/** @param {ListedLane} lane */
function formatLane({ decoder, knobs }) {
  const pairs = decoder.knobs
    .filter((knob) => knob.name in knobs && !isDefault(knob, knobs[knob.name]))
    .map(({ name }) => `${name}=${knobs[name]}`);
  return pairs.length ? `${decoder.name}:${pairs.join(";")}` : decoder.name;
}

const save = () => void (props.value = lanes.map(formatLane));

/** Another list of lanes; the focus goes to a lane's decoder, or to the buttons that add one. */
function change(next, focus) {
  lanes = next;
  save();
  show();
  const row = list.children[focus];
  (row ? row.querySelector("select") : more.querySelector("button")).focus();
}

function show() {
  list.replaceChildren(...lanes.map(rowOf));
  const full = lanes.length >= props.most;
  const adders = decoders.map((decoder) =>
    make(
      "button",
      { type: "button", ariaLabel: `Add ${decoder.title}`, title: decoder.idea, disabled: full },
      { onclick: () => change([...lanes, { decoder, knobs: {} }], lanes.length) },
      `+ ${decoder.title}`,
    ),
  );
  const words = full ? `A race has at most ${props.most} lanes.` : "Add a lane:";
  more.replaceChildren(make("span", words), ...adders);
}

/** @param {ListedLane} lane */
function rowOf(lane, i) {
  const { decoder } = lane;
  const [before, after] = [lanes.slice(0, i), lanes.slice(i + 1)];
  const options = decoders.map(({ name, title }) => make("option", { value: name }, title));
  const choice = make("select", { ariaLabel: `Decoder of lane ${i + 1}` }, ...options);
  choice.value = decoder.name;
  choice.addEventListener("change", () =>
    change([...before, parseLane(choice.value), ...after], i),
  );
  const copy = { ...lane, knobs: { ...lane.knobs } };
  const duplicate = make("button", "Duplicate", {
    ...{ type: "button", ariaLabel: `Duplicate lane ${i + 1}` },
    ...{ disabled: lanes.length >= props.most },
    onclick: () => change([...before, lane, copy, ...after], i + 1),
  });
  const remove = make("button", "Remove", {
    ...{ type: "button", ariaLabel: `Remove lane ${i + 1}` },
    onclick: () => change([...before, ...after], Math.min(i, lanes.length - 2)),
  });
  return make(
    "li.lane-row",
    { role: "group", ariaLabel: `Lane ${i + 1}, ${decoder.title}` },
    make("div.lane-what", make("b", i + 1), choice, make("p", decoder.idea)),
    make("div.lane-knobs", ...decoder.knobs.map((knob) => fieldOf(lane, knob))),
    make("div.lane-acts", duplicate, remove),
  );
}

/** @param {ListedLane} lane @param {ListedKnob} knob */
function fieldOf(lane, knob) {
  const id = `lane-knob-${(fields += 1)}`;
  const options = knob.choices.map((text) => make("option", { value: text }, SWITCH[text] ?? text));
  const input = knob.choices.length
    ? make("select", ...options)
    : make("input", { type: "number", step: "any" });
  input.id = id;
  input.value = lane.knobs[knob.name] ?? knob.default;
  input.setAttribute("aria-describedby", `${id}-info`);
  const label = make("label", { htmlFor: id }, knob.name);
  const field = make("div.lane-knob", label, input, make("small", { id: `${id}-info` }, knob.info));
  const mark = () => (field.dataset.changed = Number(!isDefault(knob, input.value)));
  input.addEventListener("input", () => {
    lane.knobs[knob.name] = input.value;
    mark();
    save();
  });
  mark();
  return field;
}

const read = () => {
  lanes = props.value.map(parseLane);
  show();
};
watch("value", read);
read();
