// A lane's picture, which comes row by row of tokens.

import { penOf, sized } from "../dom.js";

/**
 * The image in a base64 WebP file; null if it is damaged.
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

// The picture at its own size.
export class Picture {
  canvas = document.createElement("canvas");
  /** @type {string[]} the files of the rows that are painted */
  rows = [];

  /** Decodes the rows that are new and paints them, all at once. @param {string[]} rows */
  async take(rows) {
    const changed = rows.map((_, i) => i).filter((i) => rows[i] && rows[i] !== this.rows[i]);
    const images = await Promise.all(changed.map((i) => decodeImage(rows[i])));
    images.forEach((image, n) => {
      if (!image) return;
      sized(this.canvas, image.naturalWidth, image.naturalHeight * rows.length);
      penOf(this.canvas).drawImage(image, 0, changed[n] * image.naturalHeight);
      this.rows[changed[n]] = rows[changed[n]];
    });
  }
}
