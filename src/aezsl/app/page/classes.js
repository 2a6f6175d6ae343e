// What to choose among: a table of classes to edit, add and delete in place; for a model to which names suffice, one field of words.

import { find, keep, kept, make, state } from "./common.js";

let edited = () => {};
export const whenEdited = (work) => (edited = work);

// Names and descriptions; none before the model is loaded.
export const classes = () => (state.about?.by_words ? words(find("words").value) : table());

// Commas or lines part names. Behind a colon the rest of the line, commas and all, describes the name before it.
const words = (text) =>
  text.split("\n").flatMap((line) => {
    const [before, ...described] = line.split(":");
    const names = before.split(",").map((one) => one.trim());
    return names.map((name, i) => [name, i === names.length - 1 ? described.join(":").trim() : ""]);
  }).filter(([name]) => name);

const table = () =>
  [...find("classes").rows].map((row) => [...row.querySelectorAll("input, textarea")].map((field) => field.value)).map(([name, text = ""]) => [name, text]);

function row(name, text) {
  const line = make("tr");
  const own = make("input", { value: name, maxLength: state.limits.name, spellcheck: false });
  own.setAttribute("aria-label", "Name of a class");
  if (!state.about.describable) own.setAttribute("list", "known");
  const remove = make("button", { className: "plain", textContent: "✕" });
  const words = make("textarea", { value: text, rows: 1, maxLength: state.limits.description });
  const rename = () => {
    const called = own.value || "the class without a name";
    remove.setAttribute("aria-label", `Delete ${called}`);
    words.setAttribute("aria-label", `Description of ${called}`);
  };
  rename();
  own.addEventListener("input", rename);
  remove.addEventListener("click", () => {
    const next = line.nextElementSibling ?? line.previousElementSibling;
    line.remove();
    (next?.querySelector("button") ?? find("add")).focus();
    edited();
  });
  line.append(make("td", {}, own));
  line.append(state.about.describable ? make("td", {}, words) : make("td"), make("td", {}, remove));
  return line;
}

export function showClasses() {
  const { describable, known, classes: first, by_words: byWords } = state.about;
  find("words-part").hidden = !byWords;
  find("classes-part").hidden = byWords;
  if (byWords) {
    find("words").value = kept("words") ?? first.map(([name]) => name).join(", ");
    return;
  }
  find("classes-note").textContent = describable
    ? "Say in a few words what each looks like. Edit, add or delete: the names above change at once."
    : "This model knows classes by measured attributes, so only the names that it has learnt can be chosen.";
  find("described").hidden = !describable;
  find("known").replaceChildren(...(describable ? [] : [...known, ...first.map(([name]) => name)]).map((name) => new Option(name)));
  find("classes").replaceChildren(...first.map(([name, text]) => row(name, text)));
  filter();
}

// A class more, or one less: "name" or "name: description".
export function addClass(line) {
  const [name, ...described] = line.split(":");
  if (state.about.by_words) setWords(`${find("words").value.trimEnd()}\n${line}`);
  else find("classes").append(row(name.trim(), described.join(":").trim() || name.trim()));
}

export function removeClass(line) {
  const name = line.split(":")[0].trim();
  if (state.about.by_words) setWords(find("words").value.split("\n").filter((one) => one !== line).join("\n"));
  else [...find("classes").rows].filter((one) => one.querySelector("input").value === name).forEach((one) => one.remove());
}

// Another description of a class; none where the text is empty.
export function describe(name, text) {
  if (!state.about.by_words) {
    const line = [...find("classes").rows].find((one) => one.querySelector("input").value.trim() === name);
    line.querySelector("textarea").value = text || name;
    return;
  }
  const described = text ? `${name}: ${text}` : name;
  const lines = find("words").value.split("\n").map((line) => {
    const [before, ...rest] = line.split(":");
    const names = before.split(",").filter((one) => one.trim() !== name).join(",");
    return before.split(",").at(-1).trim() === name ? names : [names, ...rest].join(":");
  });
  setWords([...lines.filter((line) => line.trim()), described].join("\n"));
}

function setWords(text) {
  find("words").value = text;
  keep("words", text);
}

function filter() {
  const wanted = find("find").value.toLowerCase();
  const given = table();
  [...find("classes").rows].forEach((line, place) => (line.hidden = !given[place].join(" ").toLowerCase().includes(wanted)));
}

find("find").addEventListener("input", filter);
find("classes").addEventListener("input", () => edited());
find("add").addEventListener("click", () => {
  find("find").value = "";
  filter();
  const line = row("", "");
  find("classes").prepend(line);
  find("scroll").scrollTop = 0;
  line.querySelector("input").focus();
});
find("empty").addEventListener("click", () => {
  find("classes").replaceChildren();
  find("add").click();
});
find("words").addEventListener("input", () => {
  keep("words", find("words").value);
  edited();
});
for (const id of ["restore", "words-restore"]) {
  find(id).addEventListener("click", () => {
    keep("words", null);
    showClasses();
    edited();
  });
}
