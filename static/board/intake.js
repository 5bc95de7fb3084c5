// The board's intake. A snapshot's images are decoded before any part of it is shown.

import { Picture, decodeImage, paintAll } from "../lanes/picture.js";
import { picturesOf } from "../trace/updates.js";

/**
 * Call `act` in the next frame, or after 50 ms on a hidden page, which has no frames.
 * @param {FrameRequestCallback} act
 */
export function onFrame(act) {
  if (document.hidden) setTimeout(act, 50);
  else requestAnimationFrame(act);
}

/**
 * Return a function that takes snapshots, and calls `adopt` with the newest one at most once a
 * frame. Older snapshots are skipped. The promise of each call resolves in the frame after its
 * snapshot, or a newer one, was adopted.
 * @param {(value: Shown) => Promise<void>} adopt
 */
export function takeNewest(adopt) {
  /** @type {Shown | null} */
  let pending = null;
  /** @type {((value: void) => void)[]} */
  let callers = [];
  let taking = false;

  async function takeAll() {
    taking = true;
    try {
      while (pending) {
        const [next, told] = [pending, callers];
        [pending, callers] = [null, []];
        await adopt(next);
        await new Promise(onFrame);
        for (const resolve of told) resolve();
      }
    } finally {
      taking = false;
    }
  }

  /** @param {Shown} value @returns {Promise<void>} */
  return (value) => {
    pending = value;
    /** @type {Promise<void>} */
    const taken = new Promise((resolve) => void callers.push(resolve));
    if (!taking) takeAll();
    return taken;
  };
}

/** The pictures of the race on the board, and the image of its tokens' swatches. */
export class Pictures {
  /** @type {Picture[]} of each lane */
  lanes = [];
  /** @type {HTMLImageElement | null} */
  swatches = null;
  #race = /** @type {string | undefined} */ (undefined); // its id
  #swatches = ""; // the text of their image
  /** @type {Painting[]} the race's list; the first `#painted` have been painted */
  #paintings = [];
  #painted = 0;

  /**
   * Paint what a race has sent since its last snapshot. If a new snapshot begins the same race
   * anew, as when a lane begins later than others, paint onto the same pictures.
   * @param {Shown} value
   */
  async paint(value) {
    const same = this.#race === value.id && this.lanes.length === value.lanes.length;
    if (!same) this.lanes = value.lanes.map(() => new Picture(value.grid));
    this.#race = value.id;
    const paintings = "paintings" in value ? value.paintings : picturesOf(value);
    const known = same && paintings === this.#paintings ? this.#painted : 0;
    const count = paintings.length; // the list may grow while these are decoded
    await paintAll(paintings.slice(known, count), this.lanes);
    this.#paintings = paintings;
    this.#painted = count;
    if (value.swatches === this.#swatches) return;
    this.swatches = value.swatches ? await decodeImage(value.swatches) : null;
    this.#swatches = value.swatches;
  }
}
