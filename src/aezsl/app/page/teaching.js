// Teach it: a collection of the visitor's own, trained while the page says how far it is.

import { ask, dropped, find, guarded, make, plain, Refused, sendFile } from "./common.js";

const PAUSE = 1000; // milliseconds between two questions about the training

// hints : what the first line suggests.
function lesson(hints = {}) {
  const line = make("tr");
  const name = make("input", { spellcheck: false, placeholder: hints.name ?? "" });
  name.setAttribute("aria-label", "Name of a class");
  const text = make("textarea", { rows: 1, placeholder: hints.text ?? "" });
  const files = make("input", { type: "file", accept: "image/*", multiple: true });
  const remove = make("button", { className: "plain", textContent: "✕" });
  const rename = () => {
    const called = name.value || "the class without a name";
    text.setAttribute("aria-label", `Description of ${called}`);
    files.setAttribute("aria-label", `Photos of ${called}, none if you have none`);
    remove.setAttribute("aria-label", `Delete ${called}`);
  };
  rename();
  name.addEventListener("input", rename);
  remove.addEventListener("click", () => {
    line.remove();
    find("lesson").focus();
  });
  line.addEventListener("dragover", () => line.classList.add("over"));
  line.addEventListener("dragleave", () => line.classList.remove("over"));
  line.addEventListener("drop", async (event) => {
    line.classList.remove("over");
    const all = new DataTransfer(); // what was chosen before stays
    for (const file of [...files.files, ...(await dropped(event.dataTransfer))]) all.items.add(file);
    files.files = all.files;
  });
  line.append(...[name, text, files, remove].map((part) => make("td", {}, part)));
  return line;
}

// Lines that are filled: names, descriptions, and the files of photos.
export function fill(classes) {
  find("lessons").replaceChildren(...classes.map(({ name, text, files }) => {
    const line = lesson();
    const [own, words, chosen] = line.querySelectorAll("input, textarea");
    const all = new DataTransfer();
    for (const file of files) all.items.add(file);
    [own.value, words.value, chosen.files] = [name, text, all.files];
    own.dispatchEvent(new Event("input"));
    return line;
  }));
}

const lessons = () =>
  [...find("lessons").rows].map((line) => {
    const [name, text, files] = line.querySelectorAll("input, textarea");
    return { name: name.value, text: text.value, files: [...files.files] };
  });

async function send(lesson, all) {
  const photos = all.flatMap(({ files }, place) => files.map((file) => [place, file]));
  for (const [done, [place, file]] of photos.entries()) {
    find("teach-note").textContent = `Copying photo ${done + 1} of ${photos.length} …`;
    try {
      await sendFile(`api/lesson?lesson=${lesson}&class=${place}`, file);
    } catch (error) {
      throw error instanceof Refused ? new Refused(`${file.name}: ${error.message}`) : error;
    }
  }
}

async function follow(lesson) {
  for (;;) {
    const { state, share, sentence, name, expected } = await ask("progress", { lesson });
    find("progress").value = share;
    find("teach-note").textContent = `Training … ${Math.round(100 * share)}% of the steps are done.`;
    if (state === "failed") throw new Refused(sentence);
    if (state === "done") return { name, expected };
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

const train = guarded(async () => {
  const all = lessons().filter(({ name, text, files }) => name || text || files.length);
  const { lesson } = await ask("begin", { name: find("set").value, classes: all.map(({ name, text, files }) => [name, text, files.length ? "seen" : "unseen"]) });
  await send(lesson, all);
  await ask("train", { lesson });
  await finish(lesson);
});

async function finish(lesson) {
  find("progress").hidden = false;
  const { name, expected } = await follow(lesson);
  find("teach-note").textContent = `${plain(name)} is trained and chosen above: name photos with it. ${expected}`;
  document.dispatchEvent(new CustomEvent("trained", { detail: `${name}/aezsl` }));
}

const busy = (work) => async (...given) => {
  find("train").disabled = true;
  find("teach-note").textContent = "";
  await work(...given);
  find("train").disabled = false;
  find("progress").hidden = true;
  if (!find("message").hidden) find("teach-note").textContent = "";
};
find("train").addEventListener("click", busy(train));

// For a page that was opened again while the training on a lesson is under way.
export const followOn = busy(guarded(finish));

find("lesson").addEventListener("click", () => {
  find("lessons").append(lesson());
  find("lessons").lastChild.querySelector("input").focus();
});
const HINTS = { name: "great tit", text: "a small bird with a black head and a yellow belly" };
find("lessons").append(lesson(HINTS), lesson(), lesson(), lesson(), lesson()); // the fewest that can be taught
