// The rows that Python sends (engine/trace/rows.py), read at the offsets that each snapshot brings.

const BYTES = { Uint8: 1, Uint16: 2, Uint32: 4, Float32: 4 };

// Rows of one dtype, in base64 that only grows. New text is decoded when a row is read.
export class Rows {
  text = "";
  #view = new DataView(new ArrayBuffer(0));
  #decoded = 0; // characters of the text; 4 of them are 3 bytes
  /** @param {Dtype} dtype */
  constructor({ size, fields }) {
    this.size = size;
    this.fields = fields;
  }
  get count() {
    return Math.floor((3 * this.text.length) / 4 / this.size);
  }
  #read() {
    const tail = atob(this.text.slice(this.#decoded));
    const bytes = new Uint8Array(this.#view.byteLength + tail.length);
    bytes.set(new Uint8Array(this.#view.buffer));
    for (let i = 0; i < tail.length; i++) bytes[this.#view.byteLength + i] = tail.charCodeAt(i);
    this.#view = new DataView(bytes.buffer);
    this.#decoded = this.text.length;
  }
  /**
   * Return a row's field, or the i-th number of a field with several.
   * @param {number} row @param {string} field
   */
  at(row, field, i = 0) {
    if (this.#decoded < this.text.length) this.#read();
    const [type, offset, count] = this.fields[field];
    if (i >= count) throw new RangeError(`${field} has ${count} numbers`);
    return this.#view[`get${type}`](row * this.size + offset + i * BYTES[type], true);
  }
  /**
   * Return all numbers of a field.
   * @param {number} row
   * @param {string} field
   * @returns {number[]}
   */
  all(row, field) {
    return Array.from({ length: this.fields[field][2] }, (_, i) => this.at(row, field, i));
  }
}
