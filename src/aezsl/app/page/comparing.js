// Compare: two models on the same photos, and what was measured of each.

import { ask, find, guarded, make, named, picture, state } from "./common.js";
import { asked } from "./naming.js";

const label = (id) => state.models.find((one) => one.id === id).label;

export function showOthers() {
  const others = state.models.filter((one) => one.id !== state.model);
  find("other").replaceChildren(...others.map((one) => new Option(one.label, one.id)));
  find("go").disabled = !others.length;
  find("side").replaceChildren();
  find("measured").replaceChildren("Press Compare to see them.");
  find("measured-note").textContent = "";
}

const table = (title, head, rows) =>
  make(
    "table",
    { ariaLabel: title },
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", textContent: text })))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))))),
  );

async function showSide(models) {
  const [ours, theirs] = [await asked("scores", {}, state.photos, models[0]), await asked("scores", {}, state.photos, models[1])];
  const rows = state.photos.map((photo, place) => [
    picture(photo, { alt: photo.name }),
    named(ours.answers[place]),
    named(theirs.answers[place]),
  ]);
  const said = ({ answers }, place) => answers[place].said[0];
  const same = rows.filter((_, place) => said(ours, place) === said(theirs, place)).length;
  find("side").replaceChildren(table("The photos", ["Photo", ...models.map(label)], rows));
  find("compare-note").textContent = `They agree on ${same} of ${rows.length} photos.`;
}

// Metrics in words.
const inWords = (key) => key.replace(/^Hit@1$/, "Right name first").replace(/^Hit@(\d+)$/, "Right name among the best $1").replace(/^Per class/, "Accuracy, mean over classes");

async function showMeasured(models) {
  const found = [];
  let closed = "";
  for (const model of models) {
    const { measured, command } = await ask("runs", { model });
    found.push(measured);
    closed ||= command;
  }
  const keys = [...new Set(found.flatMap((one) => Object.keys(one.metrics ?? {})))];
  const value = (one, key) => (one.metrics?.[key] === undefined ? "–" : `${(100 * one.metrics[key]).toFixed(1)}%`);
  const rows = keys.map((key) => [inWords(key), ...found.map((one) => value(one, key))]);
  const link = (one) => (one.link ? make("a", { href: one.link, textContent: "open the run", target: "_blank", rel: "noopener" }) : "–");
  rows.push(["All about the run", ...found.map(link)]);
  find("measured-note").textContent = closed && keys.length ? `The links work while the page of the runs is open. To open it, type in a terminal: ${closed}` : "";
  find("measured").replaceChildren(keys.length ? table("What was measured", ["", ...models.map(label)], rows) : "Nothing was measured of these models.");
}

find("go").addEventListener("click", guarded(async () => {
  const models = [state.model, find("other").value];
  find("side").replaceChildren();
  find("measured").replaceChildren();
  find("compare-note").textContent = "Both models look at the photos …"; // one that has not seen them yet takes its time
  if (state.photos.length) await showSide(models);
  else find("compare-note").textContent = "Add photos under Name to see both models name them.";
  await showMeasured(models);
}));
