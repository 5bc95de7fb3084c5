// Server-sent events that outlive a proxy. A browser asks again where a connection ends, but gives
// up for good where an answer is an error, such as a proxy's 502.

const RETRIES = [500, 1000, 2000, 4000, 8000]; // ms before each further try; then the last one
const ENDS = [204, 404]; // answers that there is no such stream

/**
 * Open a stream of events, and open it again whenever it ends, until the server says that there is
 * no such stream.
 * @param {string} address
 * @param {Record<string, (event: MessageEvent<string>) => void>} takers by the events' names
 * @param {() => void} gone is called when the server says so
 * @returns {() => void} closes it
 */
export function openStream(address, takers, gone) {
  /** @type {EventSource} */
  let events;
  let isClosed = false;
  let tries = 0;

  function open() {
    events = new EventSource(address);
    for (const [name, take] of Object.entries(takers))
      events.addEventListener(name, (event) => {
        tries = 0;
        if (!isClosed) take(event);
      });
    events.addEventListener("error", fail);
  }

  async function fail() {
    if (events.readyState !== EventSource.CLOSED || isClosed) return;
    const answer = await fetch(address, { method: "HEAD" }).catch(() => null);
    if (isClosed) return;
    if (answer && ENDS.includes(answer.status)) {
      isClosed = true;
      return gone();
    }
    setTimeout(() => isClosed || open(), RETRIES[Math.min(tries, RETRIES.length - 1)]);
    tries += 1;
  }

  open();
  return () => {
    isClosed = true;
    events.close();
  };
}
