// What a reader may do beside reading: sort tables, copy commands, hide systems in charts. Without it all still reads.
"use strict";
for (const table of document.querySelectorAll("table.systems")) {
  const body = table.tBodies[0];
  table.tHead?.querySelectorAll("th").forEach((title, column) => {
    title.tabIndex = 0;
    title.classList.add("sorts");
    const sort = () => {
      const up = title.getAttribute("aria-sort") !== "ascending";
      table.tHead.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sign = up ? 1 : -1;
      const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
      // What is missing stands last, whichever way the column is sorted.
      const order = ([a], [b]) =>
        a === null || b === null ? (a === null) - (b === null)
        : sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      rows.sort(order).forEach(([, row]) => body.append(row));
    };
    title.addEventListener("click", sort);
    title.addEventListener("keydown", (key) => { if (key.key === "Enter") sort(); });
  });
}
function valueOf(cell) {
  if (!cell) return null;
  if (cell.tagName === "TH") return cell.textContent.trim();
  const text = cell.dataset.value;
  return text === undefined || text === "" ? null : Number(text);
}
for (const code of document.querySelectorAll("pre > code, table.config td > code")) {
  if (!code.textContent.trim().startsWith("flashtwin ")) continue;
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const picked = getSelection();
    picked.selectAllChildren(code);
    try { await navigator.clipboard.writeText(code.textContent.trim()); } catch { document.execCommand("copy"); }
    picked.removeAllRanges();
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  code.after(button);
}
const rule = document.createElement("style");
document.head.append(rule);
const hidden = new Set();
for (const chip of document.querySelectorAll(".chip")) {
  const button = document.createElement("button");
  button.className = "chip";
  button.setAttribute("aria-pressed", "true");
  button.append(...chip.childNodes);
  chip.replaceWith(button);
  const colour = chip.dataset.colour;
  button.addEventListener("click", () => {
    if (!hidden.delete(colour)) hidden.add(colour);
    button.setAttribute("aria-pressed", String(!hidden.has(colour)));
    rule.textContent = [...hidden].map((one) => `.chart svg [style*="var(--c${one})"] { opacity: 0.06; }`).join("\n");
  });
}
// On a phone the contents are folded; a page without a script shows them.
if (matchMedia("(max-width: 68rem)").matches) document.querySelector("nav details")?.removeAttribute("open");
