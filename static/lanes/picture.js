// A lane's picture: patches of single cells while it races, then the whole.

import { penOf, sized } from "../dom.js";
import { patchesOf } from "../trace/updates.js";

/**
 * Decode the image in a base64 WebP file. Resolve to null if it is damaged.
 * @param {string} text @returns {Promise<HTMLImageElement | null>}
 */
export async function decodeImage(text) {
  const image = new Image();
  image.src = "data:image/webp;base64," + text;
  return image.decode().then(
    () => image,
    () => null,
  );
}

// A lane's picture at its own size.
export class Picture {
  canvas = document.createElement("canvas");
  /** @type {number[]} how often each row of tokens has been painted */
  rows;
  /** @type {Set<number>} the cells that patches were painted on */
  #cells = new Set();
  #whole = false;

  /** @param {Race["grid"]} grid */
  constructor([rows, columns]) {
    this.columns = columns;
    this.rows = Array(rows).fill(0);
  }

  /** Test whether anything is painted at a cell. @param {number} cell */
  has(cell) {
    return this.#whole || this.#cells.has(cell);
  }

  /** @param {HTMLImageElement} image of the whole grid */
  paintWhole(image) {
    sized(this.canvas, image.naturalWidth, image.naturalHeight);
    penOf(this.canvas).drawImage(image, 0, 0);
    this.rows = this.rows.map((times) => times + 1);
    this.#whole = true;
  }

  /**
   * Paint a cell from a square of an image; left, top and side are in pixels.
   * @param {HTMLImageElement} image @param {number} cell @param {number} left @param {number} top
   * @param {number} side
   */
  paintCell(image, cell, left, top, side) {
    const row = Math.floor(cell / this.columns);
    sized(this.canvas, side * this.columns, side * this.rows.length);
    const x = (cell % this.columns) * side;
    const y = row * side;
    penOf(this.canvas).drawImage(image, left, top, side, side, x, y, side, side);
    this.rows[row] += 1;
    this.#cells.add(cell);
  }
}

/**
 * Decode all images that a race has sent. Then paint them onto the pictures of its lanes.
 * @param {Painting[]} paintings @param {Picture[]} pictures
 */
export async function paintAll(paintings, pictures) {
  const images = await Promise.all(paintings.map(({ image }) => decodeImage(image)));
  paintings.forEach((painting, i) => {
    const image = images[i];
    if (!image) return;
    const [whole] = painting.parts;
    if (!whole.cells) return pictures[whole.lane].paintWhole(image);
    const { places, side } = patchesOf(painting, image.naturalWidth);
    for (const { lane, cell, left, top } of places)
      pictures[lane].paintCell(image, cell, left, top, side);
  });
}
