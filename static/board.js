// The board: takes in snapshots, holds the one state that everything is drawn from, and moves it through time.

const INTRODUCTION =
  "Every lane decodes the same picture with the same model from the same seed, each by its own method, " +
  "and is charged only for its own time.";
const SLOWER = "Lanes take turns here, so the race is shown slower than its clocks.";
const LONGEST = 0.25; // seconds that a replay goes on in one frame, however long the page was busy

// Mounts the board in `root`. `watch(callback)` calls back with each snapshot; `stopped(callback)` when the visitor stops; and
// `needTour()`, if there is one, asks for the recorded race of the tour, which then comes as a snapshot.
// Returns {state, go, onChange}. `go` takes any of {t, clock, layer, hidden, cell, playing, speed, live, stepping, present} and
// {lane, step}, which is the instant at which that lane has made so many steps.
function mountBoard(root, watch, stopped, needTour) {
  const board = root.querySelector(".board");
  const part = (name) => board.querySelector("." + name);
  // `live`: the newest there is, be it of a race that is on or at its finish. `stepping`: the lane that steps, null for all.
  const state = {
    race: null, clock: "seconds", t: 0, playing: false, speed: 1, live: true, layer: "picture", hidden: new Set(), cell: null,
    stepping: null, present: false,
  };
  const listeners = [];
  const handle = { state, go, onChange: (callback) => listeners.push(callback), needTour };
  const controls = bindControls(board, handle);
  let cards = [];
  let swatches = { text: "", image: null };
  let pending = null; // the newest snapshot that has not been taken in
  let began = false; // a race has begun since the last snapshot that was taken in
  let taking = false;
  let halted = false;
  let asked = false; // a frame has been asked for
  let last = 0; // when the last frame of a replay was drawn

  const over = () => ["finished", "stopped"].includes(state.race.snapshot.state);
  const length = () => lengthOf(state.race, state.clock);

  // Takes in the newest snapshot, once a frame at most; what is drawn has its pictures already.
  async function take(value) {
    if (!value) return;
    pending = value;
    if (value.seq === 0) began = true;
    if (taking) return;
    taking = true;
    try {
      while (pending) {
        const next = pending;
        pending = null;
        await adopt(next);
        await new Promise((ready) => (document.hidden ? setTimeout(ready, 50) : requestAnimationFrame(ready)));
      }
    } finally {
      taking = false;
    }
  }

  async function adopt(value) {
    const previous = began ? null : state.race;
    began = false;
    const fresh = !previous || !continues(value, previous);
    const pictures = fresh ? value.lanes.map(() => new Picture()) : cards.map((card) => card.picture);
    await Promise.all(pictures.map((picture, i) => picture.take(value.lanes[i].strips)));
    if (value.swatches !== swatches.text) {
      swatches = { text: value.swatches, image: value.swatches ? await decodeImage(value.swatches) : null };
    }
    if (halted && !fresh && value.state !== "stopped") return;
    const before = state.race?.snapshot;
    state.race = decodeRace(value, previous);
    if (fresh) begin(pictures);
    else announce(before);
    refresh();
  }

  // A new race has begun. A recorded one plays by itself, unless the visitor likes things still.
  function begin(pictures) {
    const { snapshot } = state.race;
    halted = false;
    cards = makeCards(part("lanes"), part("lane-template"), snapshot.lanes, pictures);
    controls.bindLanes(cards);
    delete part("finish").dataset.built;
    const playing = snapshot.recorded && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    last = performance.now();
    Object.assign(state, { t: 0, playing, live: !playing, hidden: new Set(), cell: null, stepping: null });
    cards.forEach((card) => resized.observe(card.canvas));
    measure();
    const asleep = !snapshot.prompt || snapshot.recorded;
    if (!asleep && part("lanes").getBoundingClientRect().top > 0.6 * innerHeight) board.scrollIntoView();
  }

  // The visitor stopped: no snapshot will come to say so.
  function halt() {
    const { race } = state;
    if (!race || over() || !race.snapshot.prompt) return;
    halted = true;
    for (const lane of race.lanes) if (["racing", "waiting"].includes(lane.state)) lane.state = "stopped";
    const lanes = race.snapshot.lanes.map((lane, i) => ({ ...lane, state: race.lanes[i].state }));
    race.snapshot = { ...race.snapshot, state: "stopped", lanes };
    part("live").textContent = "Race stopped.";
    refresh();
  }

  function announce(before) {
    const { snapshot } = state.race;
    const news = snapshot.lanes
      .filter((lane, i) => before.lanes[i].state !== lane.state && ["finished", "failed"].includes(lane.state))
      .map((lane) => `${lane.title} ${lane.state} after ${lane.passes} passes, ${inSeconds(lane.seconds)} seconds.`);
    if (snapshot.state === "finished" && before.state !== "finished") news.push("The race is over.");
    if (news.length) part("live").textContent = news.join(" ");
  }

  function go(change) {
    const { lane, step, t, live, playing, clock, ...plain } = change;
    if (!state.race) return void Object.assign(state, plain, clock && { clock });
    if (clock && clock !== state.clock) Object.assign(state, { t: sameInstant(state, clock), clock });
    if ("hidden" in plain) plain.hidden = new Set(plain.hidden);
    Object.assign(state, plain);
    if (live) Object.assign(state, { live: true, playing: false });
    if (step !== undefined) moveTo(clockAt(state.race.lanes[lane], state.clock, step));
    if (t !== undefined) moveTo(t);
    if (playing !== undefined) play(playing);
    if ("hidden" in plain || "present" in plain) arrange();
    refresh();
  }

  function moveTo(t) {
    state.t = Math.min(length(), Math.max(0, t));
    state.live = state.t >= length();
    if (state.live) state.playing = false;
  }

  function play(playing) {
    if (playing && state.live && over()) Object.assign(state, { t: 0, live: false });
    if (!playing && state.live && !over()) state.live = false; // stays where it is; the race goes on
    state.playing = playing && !state.live;
    last = performance.now();
  }

  function refresh() {
    if (asked) return;
    asked = true;
    if (document.hidden) setTimeout(frame, 50);
    else requestAnimationFrame(frame);
  }

  function frame() {
    asked = false;
    if (!state.race) return;
    if (state.playing) {
      const now = performance.now();
      moveTo(state.t + Math.min(LONGEST, (now - last) / 1000) * state.speed * pace());
      last = now;
    }
    draw();
    if (state.playing) refresh();
  }

  // By passes a replay takes as long as by seconds.
  const pace = () => (state.clock === "seconds" ? 1 : length() / Math.max(0.1, lengthOf(state.race, "seconds")));

  function draw() {
    const { race, clock } = state;
    if (state.live) state.t = raceClock(race, clock);
    const steps = race.lanes.map((lane) => (state.live ? lane.count : stepAt(lane, clock, state.t)));
    const layer = layerOf(state.layer);
    const colours = getComputedStyle(board);
    const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
    const [ink, card, rule, signal] = ["ink", "card", "rule", "signal"].map(colour);
    const range = layer.kind === "count" ? rangeOf(race, layer.name) : [0, 1];
    const look = { layer, range, swatches: swatches.image, ink, card, rule, signal };
    cards.forEach((one, i) => {
      const view = laneAt(race.lanes[i], steps[i]);
      drawCard(one, race.lanes[i], view, race.cells, clock);
      if (state.hidden.has(i)) return;
      one.plane.update(race.lanes[i], race.grid, one.side, look);
      const mine = { ...look, cell: state.cell && state.cell.cell, here: state.cell?.lane === i };
      drawLane(one.canvas, one.plane, race.lanes[i], view, race.grid, mine);
    });
    drawHead();
    controls.drawControls(state.live ? state.t : length());
    drawLegend(part("legend"), layer, race);
    drawFinish(part("finish"), race.snapshot, cards, over());
    drawToken(part("token"), state, steps);
    for (const callback of listeners) callback(state);
  }

  function drawHead() {
    const { race, clock, t } = state;
    const { snapshot } = race;
    const values = {
      state: state.live ? snapshot.state : "replay", seq: snapshot.seq, done: Number(over() && state.live), layer: state.layer,
      clock, t: Number(t.toFixed(6)), playing: Number(state.playing), present: Number(state.present),
    };
    for (const [name, value] of Object.entries(values)) attribute(board, "data-" + name, value);
    say(part("clock-value"), clock === "seconds" ? inSeconds(t) : Math.floor(t));
    say(part("clock-unit"), clock);
    say(part("prompt"), snapshot.prompt || "Type a prompt, press Race.");
    const facts = [`seed ${snapshot.seed}`, `model ${snapshot.model}`, snapshot.machine, `${snapshot.grid.join(" × ")} tokens`,
      snapshot.recorded && "recorded"];
    say(part("meta"), snapshot.prompt ? facts.filter(Boolean).join(" · ") : INTRODUCTION);
    say(part("pace"), state.live && snapshot.state === "racing" ? SLOWER : "");
    say(part("note"), snapshot.note);
    part("note").hidden = !snapshot.note;
  }

  function arrange() {
    cards.forEach((card, i) => (card.root.hidden = state.hidden.has(i)));
    measure();
  }

  // How many pixels a cell has on each lane's canvas.
  function measure() {
    const [rows, columns] = state.race.grid;
    const shown = Math.max(1, cards.length - state.hidden.size);
    part("lanes").style.setProperty("--columns", shown > 6 ? 4 : Math.max(3, shown));
    part("lanes").style.setProperty("--shape", `${columns} / ${rows}`);
    for (const card of cards) {
      card.side = Math.max(4, Math.round((card.canvas.clientWidth * devicePixelRatio) / columns));
      sized(card.canvas, card.side * columns, card.side * rows);
    }
  }

  const resized = new ResizeObserver(() => {
    measure();
    refresh();
  });
  new MutationObserver(refresh).observe(document.body, { attributeFilter: ["class"] });
  mountTour(root, handle);
  stopped(halt);
  watch(take);
  return handle;
}
