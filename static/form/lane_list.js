// The form's list of lanes. Gradio runs this text once, with `element`, `props` and `watch`; the
// value is a list of texts such as "ar" and "gsd:G=50;d=0.3", and what is typed is checked when the
// race starts.

import { make, query } from "../dom.js";

const form = /** @type {LaneListProps} */ (props);
const decoders = form.decoders;
const list = query(element, "ol");
const more = query(element, ".lane-more");
/** @type {ListedLane[] | null} the lanes of whole pictures, while one is filled in */
let whole = null;
/** @type {Fills | ""} */
let filling = "";
/** @type {Record<string, string>} */
const SWITCH = { true: "on", false: "off" };
/** @type {ListedLane[]} */
let lanes = [];
let fields = 0; // how many were made so far; each has an id of its own

/** @param {string} text @returns {ListedLane} */
function parseLane(text) {
  const [name, ...rest] = text.split(":");
  const pairs = rest.join(":").split(";").filter(Boolean);
  const knobs = Object.fromEntries(pairs.map((pair) => pair.split("=")));
  const decoder = decoders.find((one) => one.name === name);
  if (!decoder) throw new RangeError(`there is no decoder ${name}`);
  return { decoder, knobs };
}

/** @param {ListedKnob} knob @param {string} text */
const isDefault = (knob, text) =>
  text === knob.default || (!knob.choices.length && text !== "" && Number(text) === +knob.default);

/** @param {ListedLane} lane */
function formatLane({ decoder, knobs }) {
  const pairs = decoder.knobs
    .filter((knob) => knob.name in knobs && !isDefault(knob, knobs[knob.name]))
    .map(({ name }) => `${name}=${knobs[name]}`);
  return pairs.length ? `${decoder.name}:${pairs.join(";")}` : decoder.name;
}

const save = () => void (form.value = lanes.map(formatLane));

/**
 * Lists other lanes. The focus goes to the decoder of one, or to the buttons that add a lane.
 * @param {ListedLane[]} next @param {number} focus
 */
function change(next, focus) {
  lanes = next;
  save();
  show();
  const row = list.children[focus];
  query(row ?? more, row ? "select" : "button").focus();
}

function show() {
  list.replaceChildren(...lanes.map(rowOf));
  const full = lanes.length >= form.most;
  const adders = offered().map((decoder) =>
    make(
      "button",
      {
        type: "button",
        ariaLabel: `Add ${decoder.title}`,
        title: decoder.idea,
        disabled: full,
        onclick: () => change([...lanes, { decoder, knobs: {} }], lanes.length),
      },
      `+ ${decoder.title}`,
    ),
  );
  const words = full ? `A race has at most ${form.most} lanes.` : "Add a lane:";
  more.replaceChildren(make("span", words), ...adders);
}

// Decoders that fill in any part of a picture draw no whole ones, and some draw whole ones alone.
const offered = () =>
  decoders.filter(
    ({ infills, rows }) => !(infills && filling !== "any") && !(rows && filling !== ""),
  );

/** @param {ListedLane} lane @param {number} i */
function rowOf(lane, i) {
  const { decoder } = lane;
  /** @type {(() => void)[]} */
  const marks = [];
  const before = lanes.slice(0, i);
  const after = lanes.slice(i + 1);
  const listed = offered().includes(decoder) ? offered() : [...offered(), decoder];
  const options = listed.map(({ name, title }) => make("option", { value: name }, title));
  const choice = make("select", { ariaLabel: `Decoder of lane ${i + 1}` }, ...options);
  choice.value = decoder.name;
  choice.addEventListener("change", () =>
    change([...before, parseLane(choice.value), ...after], i),
  );
  const copy = { ...lane, knobs: { ...lane.knobs } };
  const duplicate = make("button", "Duplicate", {
    type: "button",
    ariaLabel: `Duplicate lane ${i + 1}`,
    disabled: lanes.length >= form.most,
    onclick: () => change([...before, lane, copy, ...after], i + 1),
  });
  const presets = Object.entries(decoder.presets).map(([title, text]) =>
    make("button", title, {
      type: "button",
      ariaLabel: `${title}, lane ${i + 1}`,
      onclick: () => change([...before, parseLane(text), ...after], i),
    }),
  );
  const chosen = presets.length ? [make("div.lane-acts", ...presets)] : [];
  const remove = make("button", "Remove", {
    type: "button",
    ariaLabel: `Remove lane ${i + 1}`,
    onclick: () => change([...before, ...after], Math.min(i, lanes.length - 2)),
  });
  return make(
    "li.lane-row",
    { ariaLabel: `Lane ${i + 1}, ${decoder.title}` },
    make("div.lane-what", make("b", i + 1), choice, make("p", decoder.idea), ...chosen),
    make("div.lane-knobs", ...decoder.knobs.map((knob) => fieldOf(lane, knob, marks))),
    make("div.lane-acts", duplicate, remove),
  );
}

/**
 * Whether a knob does something in its lane as it is set.
 * @param {ListedLane} lane @param {ListedKnob} knob @returns {boolean}
 */
function matters({ decoder, knobs }, { needs: [name, value] }) {
  if (!name) return true;
  const other = decoder.knobs.find((one) => one.name === name);
  if (!other) return true;
  return (knobs[name] ?? other.default) === value && matters({ decoder, knobs }, other);
}

/** @param {ListedLane} lane @param {ListedKnob} knob @param {(() => void)[]} marks of its lane */
function fieldOf(lane, knob, marks) {
  const id = `lane-knob-${(fields += 1)}`;
  const options = knob.choices.map((text) => make("option", { value: text }, SWITCH[text] ?? text));
  const input = knob.choices.length
    ? make("select", ...options)
    : make("input", { type: "number", step: "any" });
  input.id = id;
  input.value = lane.knobs[knob.name] ?? knob.default;
  input.setAttribute("aria-describedby", `${id}-info`);
  const label = make("label", { htmlFor: id }, knob.name);
  const info = make("small", { id: `${id}-info` });
  const field = make("div.lane-knob", label, input, info);
  const [other, value] = knob.needs;
  const mark = () => {
    const idle = matters(lane, knob) ? "" : `Only with ${other} = ${SWITCH[value] ?? value}. `;
    field.dataset.changed = String(Number(!isDefault(knob, input.value)));
    field.dataset.idle = String(Number(idle !== ""));
    info.textContent = idle + knob.info;
  };
  marks.push(mark);
  input.addEventListener("input", () => {
    lane.knobs[knob.name] = input.value;
    for (const each of marks) each();
    save();
  });
  mark();
  return field;
}

const read = () => {
  lanes = form.value.map(parseLane);
  show();
};
watch("value", read);
document.addEventListener("photo-finish-lanes", (event) => {
  lanes = event.detail.map(parseLane);
  save();
  show();
});
document.addEventListener("photo-finish-filling", (event) => {
  if (filling === event.detail) return;
  filling = event.detail;
  if (filling && !whole) {
    whole = lanes.filter(({ decoder }) => !decoder.infills);
    lanes = form.value.map(parseLane); // which may be those of another race
  } else if (!filling && whole) {
    lanes = whole;
    whole = null;
    save();
  }
  show();
});
read();
