// The form's list of lanes. Gradio runs this text once, with `element`, `props` and `watch`; the
// value is a list of texts such as "ar" and "gsd:G=50;d=0.3", and what is typed is checked when the
// race starts.

import { query } from "../dom.js";
import { html, nothing, render } from "../vendor/lit-html.js";

const form = /** @type {LaneListProps} */ (props);
/** @type {LaneListFacts} */
const facts = JSON.parse(form.facts);
const decoders = facts.decoders;
const list = query(element, "ol");
const more = query(element, ".lane-more");
/** @type {ListedLane[] | null} the lanes for whole pictures, while a picture is filled in */
let whole = null;
/** @type {Fills | ""} */
let filling = "";
/** @type {Record<string, string>} */
const SWITCH = { true: "on", false: "off" };
/** @type {ListedLane[]} */
let lanes = [];

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
 * Replace the list of lanes. Move the focus to the decoder of lane `focus` or, if there is no such
 * lane, to the buttons that add one.
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
  render(lanes.map(rowOf), list);
  // A field keeps what is being typed into it, as "1." is, unless its lane has another value.
  for (const field of list.querySelectorAll("input")) {
    const { lane, knob = "" } = field.dataset;
    const { decoder, knobs } = lanes[Number(lane)];
    const value = knobs[knob] ?? decoder.knobs.find(({ name }) => name === knob)?.default ?? "";
    if (field.value !== value) field.value = value;
  }
  const full = lanes.length >= facts.most;
  const adders = offered().map((decoder) => {
    const add = () => change([...lanes, { decoder, knobs: {} }], lanes.length);
    return html`<button
      type="button"
      aria-label="Add ${decoder.title}"
      title=${decoder.idea}
      ?disabled=${full}
      @click=${add}
    >
      + ${decoder.title}
    </button>`;
  });
  const words = full ? `A race has at most ${facts.most} lanes.` : "Add a lane:";
  render([html`<span>${words}</span>`, adders], more);
}

// List the decoders on offer. Those that fill in any part of a picture draw no whole pictures;
// those that draw rows at once draw only whole ones.
const offered = () =>
  decoders.filter(
    ({ infills, rows }) => !(infills && filling !== "any") && !(rows && filling !== ""),
  );

/** @param {ListedLane} lane @param {number} i */
function rowOf(lane, i) {
  const { decoder } = lane;
  const number = i + 1;
  const before = lanes.slice(0, i);
  const after = lanes.slice(i + 1);
  /** @param {string} text of the lane that stands here instead */
  const replace = (text) => change([...before, parseLane(text), ...after], i);
  const copy = { ...lane, knobs: { ...lane.knobs } };
  const duplicate = () => change([...before, lane, copy, ...after], number);
  const remove = () => change([...before, ...after], Math.min(i, lanes.length - 2));
  /** @param {Event} event */
  const choose = ({ target }) => target instanceof HTMLSelectElement && replace(target.value);
  const listed = offered().includes(decoder) ? offered() : [...offered(), decoder];
  const options = listed.map(
    (one) => html`<option value=${one.name} .selected=${one === decoder}>${one.title}</option>`,
  );
  const presets = Object.entries(decoder.presets).map(([title, text]) => {
    const label = `${title}, lane ${number}`;
    return html`<button type="button" aria-label=${label} @click=${() => replace(text)}>
      ${title}
    </button>`;
  });
  const knobs = Object.entries(lane.knobs).map(([name, value]) => `${name}=${value}`);
  return html`<li
    class="lane-row"
    aria-label="Lane ${number}, ${decoder.title}"
    data-title=${decoder.title}
    data-knobs=${knobs.join(" ")}
  >
    <div class="lane-what">
      <b>${number}</b>
      <select aria-label="Decoder of lane ${number}" @change=${choose}>
        ${options}
      </select>
      <p>${decoder.idea}</p>
      ${presets.length ? html`<div class="lane-acts">${presets}</div>` : nothing}
    </div>
    <div class="lane-knobs">${decoder.knobs.map((knob) => fieldOf(lane, i, knob))}</div>
    <div class="lane-acts">
      <button
        type="button"
        aria-label="Duplicate lane ${number}"
        ?disabled=${lanes.length >= facts.most}
        @click=${duplicate}
      >
        Duplicate
      </button>
      <button type="button" aria-label="Remove lane ${number}" @click=${remove}>Remove</button>
    </div>
  </li>`;
}

/**
 * Test whether a knob has an effect with the lane's other knobs as they are set.
 * @param {ListedLane} lane @param {ListedKnob} knob @returns {boolean}
 */
function matters({ decoder, knobs }, { needs: [name, value] }) {
  if (!name) return true;
  const other = decoder.knobs.find((one) => one.name === name);
  if (!other) return true;
  return (knobs[name] ?? other.default) === value && matters({ decoder, knobs }, other);
}

/** @param {ListedLane} lane @param {number} i its index @param {ListedKnob} knob */
function fieldOf(lane, i, knob) {
  const { name, choices, info } = knob;
  const id = `lane-knob-${i}-${name}`;
  const value = lane.knobs[name] ?? knob.default;
  const [other, needed] = knob.needs;
  const idle = matters(lane, knob) ? "" : `Used only with ${other} = ${SWITCH[needed] ?? needed}. `;
  /** @param {Event} event */
  const change = ({ target }) => {
    if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return;
    lane.knobs[name] = target.value;
    save();
    show();
  };
  const options = choices.map(
    (text) =>
      html`<option value=${text} .selected=${text === value}>${SWITCH[text] ?? text}</option>`,
  );
  const describedBy = `${id}-info`;
  const input = choices.length
    ? html`<select id=${id} aria-describedby=${describedBy} @input=${change}>
        ${options}
      </select>`
    : html`<input
        id=${id}
        type="number"
        step="any"
        data-lane=${i}
        data-knob=${name}
        aria-describedby=${describedBy}
        @input=${change}
      />`;
  const changed = Number(!isDefault(knob, value));
  return html`<div class="lane-knob" data-changed=${changed} data-idle=${Number(idle !== "")}>
    <label for=${id}>${name}</label>
    ${input}
    <small id=${describedBy}>${idle}${info}</small>
  </div>`;
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
