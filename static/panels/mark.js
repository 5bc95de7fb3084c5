// The marks of lanes' cells as small pictures beside words. lanes/marks.js draws them on canvases.

import look from "../look.json" with { type: "json" };
import { STATUSES } from "../trace/layers.js";
import { html } from "../vendor/lit-html.js";

/** @type {Record<string, Shape>} */
const OUTLINES = look.marks.shapes;

/** Draw the mark of a status. @param {number} status */
export function markOf(status) {
  const { ink, line } = look.marks;
  const { colour, shape } = STATUSES[status];
  const { fill, circle: r, lines = [] } = OUTLINES[shape];
  const circle = r ? `M ${-r} 0 a ${r} ${r} 0 1 0 ${2 * r} 0 a ${r} ${r} 0 1 0 ${-2 * r} 0` : "";
  const path = circle + lines.map((points) => `M ${points.join(" L ")}`).join(" ");
  const [inside, stroke] = fill ? [ink, "none"] : ["none", ink];
  return html`<svg class="mark" viewBox="-1 -1 2 2" aria-hidden="true">
    <path d="M -1 -1 H 1 V 1 H -1 Z" fill=${colour}></path>
    <path
      d=${path}
      fill=${inside}
      stroke=${stroke}
      stroke-width=${line}
      stroke-linecap="round"
    ></path>
  </svg>`;
}

/** Draw the stroke of a cell that has no value. */
export function noValueMark() {
  const { colour, from, to, width } = look.noValue;
  return html`<svg class="mark" viewBox="0 0 1 1" aria-hidden="true">
    <path
      d=${`M ${from.join(" ")} L ${to.join(" ")}`}
      stroke=${colour}
      stroke-width=${width}
    ></path>
  </svg>`;
}
