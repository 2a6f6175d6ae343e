// The frame of the page: tabs, and the choice of a model.

import { ask, find, greet, guarded, plain, state } from "./common.js";
import { showClasses } from "./classes.js";
import { refresh, showExamples } from "./naming.js";
import { showOthers } from "./comparing.js";
import "./sorting.js";
import { followOn } from "./teaching.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

function choose(tab) {
  for (const one of tabs) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", chosen);
    one.tabIndex = chosen ? 0 : -1;
    find(one.getAttribute("aria-controls")).hidden = !chosen;
  }
  tab.focus();
  document.dispatchEvent(new Event("chosen"));
}

tabs.forEach((tab) => {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    const shown = tabs.filter((one) => !one.hidden);
    const here = shown.indexOf(tab);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(shown.at(next % shown.length));
  });
});

async function open(model) {
  find("intro").textContent = "The model is being loaded …"; // the first time takes seconds
  state.model = model;
  try {
    state.about = await ask("model");
  } catch (error) {
    find("intro").textContent = ""; // the message says why
    throw error;
  }
  const { known, n_new: unseen, by_words: byWords } = state.about;
  find("intro").textContent = byWords
    ? `Drop photos, type words, see names. The model knows ${known.length.toLocaleString("en")} kinds of things and finds out what your words have to do with them. It needs no training.`
    : `This model has learnt from photos of ${known.length} known classes, such as ${known.slice(0, 3).map(plain).join(", ")}. ` +
    `It names photos of other classes, ${unseen} to begin with, from their descriptions alone.`;
  showClasses();
  showExamples();
  showOthers();
  await refresh();
}

const start = guarded(async (wanted) => {
  const { models, limits, teaches, training } = await greet();
  find("tab-teach").hidden = !teaches;
  Object.assign(state, { models, limits });
  find("least-taught").textContent = limits.least_taught;
  find("model").replaceChildren(...models.map((one) => new Option(one.label, one.id)));
  const first = wanted && models.some((one) => one.id === wanted) ? wanted : models[0].id;
  find("model").value = first;
  await open(first);
  if (training) followOn(training);
});

find("model").addEventListener("change", guarded(() => open(find("model").value)));
document.addEventListener("trained", (event) => start(event.detail));
start();
