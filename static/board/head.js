// The board's head: what is raced, on which clock, and how it came out.

import { sameInstant } from "../controls/instants.js";
import { attribute, finder, say } from "../dom.js";
import { clockName, onClock } from "../numbers.js";
import { outcomeOf, stoppedWords } from "../panels/results.js";
import { isPhone, lanesShown } from "../stage/stage.js";
import { isOver, lanesOn } from "../trace/replay.js";
import { betInWords, tallyInWords } from "./bet.js";
import { forkInWords, isFork } from "./fork.js";
import { isPair } from "./pair.js";

const INTRODUCTION =
  "Every lane decodes with the same model from the same prompt and seed, each by its own method. " +
  "A lane's clock counts only its own time.";
const SLOWER = "Lanes take turns on this machine, so the race looks slower than their clocks.";
const APART = {
  racing: "Each lane runs on its own device, all at once.",
  over: "Each lane ran on its own device, all at once.",
};

/** Say how a live race keeps time. @param {Snapshot} snapshot */
function howLanesRun({ apart, state }) {
  if (state === "racing") return apart ? APART.racing : SLOWER;
  return apart ? APART.over : "";
}

/** Say how many tokens of a picture are filled in, and in which order. @param {Race} race */
function fillingInWords({ snapshot: { infilling }, lanes: [lane] }) {
  if (!infilling) return "";
  if (isFork(infilling)) return `, ${lane.total} drawn on`;
  return `, ${lane.total} filled in${infilling.order === "raster" ? " row by row" : ""}`;
}

/** @param {Raced} state @param {string} how its lanes ran */
function endInWords(state, how) {
  const { race, bet } = state;
  const stopped = race.snapshot.state === "stopped" ? stoppedWords(race) : "";
  const bets = [betInWords(race, bet), tallyInWords(race)];
  return [stopped, outcomeOf(state), ...bets, how].filter(Boolean).join(" ");
}

/**
 * Draw the race's facts and its outcome above the lanes, and set the board's state as attributes.
 * @param {HTMLElement} board @param {Raced} state
 */
export function drawHead(board, state) {
  const part = finder(board);
  const { race, clock, t, live, layer, playing, present, speed, cell } = state;
  const { snapshot } = race;
  const { id, seq, prompt, seed, model, sampling, machine, grid, infilling } = snapshot;
  const { recorded, elsewhere, note } = snapshot;
  const lanes = lanesShown(state, isPhone(state));
  const beside = present && !isPhone(state) && cell?.pinned && lanes.length <= 3;
  const values = {
    race: id ?? "",
    seq,
    layer,
    clock,
    state: live ? race.snapshot.state : "replay",
    done: Number(isOver(race) && live),
    recorded: Number(Boolean(recorded && prompt)),
    t: Number(t.toFixed(6)),
    playing: Number(playing),
    columns: beside ? 2 : 1,
    shown: lanesOn(state).join(), // for exports
  };
  for (const [name, value] of Object.entries(values)) attribute(board, "data-" + name, value);
  part("no-lanes").hidden = lanes.length > 0;
  const seconds = clock === "seconds" ? t : sameInstant(state, "seconds");
  attribute(board, "data-seconds", seconds); // for exports, which have no modelled clock
  say(part("clock-value"), onClock(t, clock));
  say(part("clock-unit"), clockName(clock) + (present && speed !== 1 ? `, ${speed}×` : ""));
  say(part("prompt"), prompt || "Type a prompt and press Race.");
  const size = `${grid.join(" × ")} tokens${fillingInWords(race)}`;
  // Another machine is named without its remaining facts, to keep this to one line.
  const where = elsewhere
    ? `recorded on another machine, ${machine.split(", ", 2).join(", ")}`
    : machine;
  const replayed = recorded && !elsewhere && "recorded";
  const seeds = !isPair(race.snapshot) && `seed ${seed}`; // the two are said with the prompts
  const from = infilling ? forkInWords(infilling, grid[1]) : "";
  say(part("origin"), from && `From ${from}.`);
  part("origin").hidden = !from;
  const facts = [seeds, `model ${model}`, sampling, where, size, replayed];
  say(part("meta"), prompt ? facts.filter(Boolean).join(" · ") : INTRODUCTION);
  const done = isOver(race) && live;
  const how = live ? howLanesRun(race.snapshot) : "";
  const going = [how, tallyInWords(race)].filter(Boolean).join(" ");
  if (done) say(part("pace"), endInWords(state, how));
  else say(part("pace"), live ? going : "");
  part("pace").classList.toggle("outcome", done);
  part("ended").hidden = !done || !state.t;
  say(part("note"), note);
  part("note").hidden = !note;
}
