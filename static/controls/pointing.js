// Wire a canvas: pointing at a cell previews it, and a click pins or unpins it. On a lane in focus,
// Enter pins the cell that was chosen in another lane, or else the first.
/** @param {HTMLCanvasElement} canvas @param {number} lane @param {Board} board */
export function bindCanvas(canvas, lane, { state, go }) {
  /** @param {MouseEvent} event */
  const cellAt = (event) => {
    const [rows, columns] = state.race?.grid ?? [1, 1];
    const box = canvas.getBoundingClientRect();
    /** @param {number} value @param {number} most */
    const at = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value * most)));
    const row = at((event.clientY - box.top) / box.height, rows);
    return row * columns + at((event.clientX - box.left) / box.width, columns);
  };
  /** @param {number} cell */
  const is = (cell) => state.cell?.lane === lane && state.cell.cell === cell;
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    const free = event.pointerType !== "touch" && !state.cell?.pinned;
    if (free && !is(cell)) go({ cell: { lane, cell, pinned: false } });
  });
  canvas.addEventListener("pointerleave", () => {
    if (state.cell && !state.cell.pinned) go({ cell: null });
  });
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    go({ cell: is(cell) && state.cell?.pinned ? null : { lane, cell, pinned: true } });
  });
  canvas.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") go({ cell: { lane, cell: state.cell?.cell ?? 0, pinned: true } });
  });
}
