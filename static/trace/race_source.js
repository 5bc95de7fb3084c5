// Where the board's races come from: each is asked for by its id, and the newest request wins.

import { openStream } from "./stream.js";
import { advance, beginRace } from "./updates.js";

/**
 * Brings one race at a time. A request supersedes all earlier requests: the rest of an older race
 * is not shown.
 */
export class RaceSource {
  #root;
  #recorded;
  #show;
  #gone;
  /** @type {Asked} */
  #asked = { race: "", key: "", more: false };
  /** @type {{ close(): void, again(): Promise<boolean> } | null} the stream of a race that is on */
  #stream = null;

  /**
   * @param {string} root the server's address
   * @param {Record<string, string>} recorded addresses of races that the browser keeps, by id
   * @param {(race: Shown) => Promise<void>} show puts a race on the board
   * @param {(race: string) => void} gone is called where the server keeps no such race
   */
  constructor(root, recorded, show, gone) {
    this.#root = root;
    this.#recorded = recorded;
    this.#show = show;
    this.#gone = gone;
  }

  /** The newest request. */
  get asked() {
    return this.#asked;
  }

  /**
   * Ask for a race. Resolve to true once the race is drawn, and to false if it does not come or
   * another request supersedes this one.
   * @param {Partial<Asked> & { race: string }} asked @returns {Promise<boolean>}
   */
  ask({ race, key = "", more = false }) {
    const stream = race === this.#asked.race ? this.#stream : null;
    if (!stream) this.#supersede();
    this.#asked = { race, key, more };
    if (stream) return stream.again();
    return race in this.#recorded ? this.#fetch(this.#asked) : this.#watch(race);
  }

  /** Show a race that the browser has. @param {Shown} race */
  give(race) {
    this.#supersede();
    this.#asked = { race: race.id ?? "", key: "", more: false };
    return this.#show(race);
  }

  #supersede() {
    this.#stream?.close();
    this.#stream = null;
  }

  /** @param {Asked} asked */
  async #fetch(asked) {
    const answer = await fetch(this.#root + this.#recorded[asked.race]).catch(() => null);
    const snapshot = answer?.ok ? await answer.json().catch(() => null) : null;
    if (!snapshot || this.#asked !== asked) return false;
    await this.#show(snapshot);
    return true;
  }

  // Watch a live race. It comes as server-sent events: a snapshot, then updates. After a lost
  // connection the race is asked for again, and all events are sent once more.
  /** @param {string} race @returns {Promise<boolean>} */
  #watch(race) {
    return new Promise((resolve) => {
      /** @type {Live | null} */
      let live = null;
      let seen = -1; // the number of the last event
      const show = async () => {
        if (!live) return false;
        await this.#show(live);
        return true;
      };
      const close = () => {
        closeStream();
        resolve(false);
      };
      const stream = (this.#stream = { close, again: show });
      const end = () => {
        if (this.#stream === stream) this.#stream = null;
        closeStream();
      };
      /** @param {MessageEvent<string>} event @param {(data: any) => Live | null} taken */
      const take = ({ data, lastEventId }, taken) => {
        if (this.#stream !== stream) return;
        const value = JSON.parse(data);
        const over = value.state === "finished" || value.state === "stopped";
        if (Number(lastEventId) <= seen && !over) return;
        seen = Number(lastEventId);
        live = taken(value);
        if (over) end();
        show().then(resolve);
      };
      const closeStream = openStream(
        `${this.#root}/races/${encodeURIComponent(race)}/events`,
        {
          snapshot: (event) => take(event, (data) => beginRace(data, live)),
          update: (event) => take(event, (data) => live && advance(live, data)),
        },
        () => {
          end();
          resolve(false);
          this.#gone(race);
        },
      );
    });
  }
}
