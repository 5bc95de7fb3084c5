// The layers to choose from: a button for each group of them, and the members of the pressed one.

import { GROUPS, layerOf } from "../trace/layers.js";
import { html, nothing, render } from "../vendor/lit-html.js";

/**
 * @param {HTMLElement} bar of buttons @param {HTMLSelectElement} member
 * @param {State} state @param {(change: Change) => void} go
 */
export function drawLayers(bar, member, { layer }, go) {
  const { group, words } = layerOf(layer);
  const buttons = [...GROUPS].map(([name, [first, ...others]]) => {
    const choose = () => name === group || go({ layer: first.name });
    return html`<button
      type="button"
      title=${others.length ? nothing : first.words}
      aria-pressed=${name === group}
      @click=${choose}
    >
      ${name}
    </button>`;
  });
  render(buttons, bar);
  const members = GROUPS.get(group) ?? [];
  const label = member.closest("label");
  if (label) label.hidden = members.length < 2;
  const options = members.map(
    ({ name, plain, title }) =>
      html`<option value=${name}>${plain ? `${plain}: ${title}` : title}</option>`,
  );
  render(options, member);
  member.value = layer;
  member.title = words;
}
