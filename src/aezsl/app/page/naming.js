// Name: photos, the names that suit them, why, refinement, what can be downloaded.

import { ask, bar, download, dropped, find, guarded, isPicture, make, named, oneAtATime, percent, picture, plain, Refused, say, sendPhoto, state, UnknownPhoto } from "./common.js";
import { classes, whenEdited } from "./classes.js";
import { zip } from "./zip.js";

const SHOWN = 10;
const WAIT = 100; // milliseconds after the last key

const BEST = "The longer the bar, the better the name suits the photo. A percentage is how probable the name is, by what the model got right among classes it had kept aside.";
const EACH = "Every word stands by itself: a percentage is how probable it is that the photo shows it. Words with half or more are said.";

const how = () => ({ refine: find("refine").checked, multi: find("multi").checked });

let answers = [];
let selected = 0;

// A class that is being typed is left out until it has a name and a description.
export const finished = () => classes().filter(([name, text]) => name.trim() && (text.trim() || state.about.by_words || !state.about.describable));

// Ask about all photos; those that the server does not have for this model are sent again.
export async function asked(question, about = {}, photos = state.photos, model = state.model) {
  const body = () => ({ model, classes: finished(), photos: photos.map((photo) => photo.id), ...about });
  try {
    return await ask(question, body());
  } catch (error) {
    if (!(error instanceof UnknownPhoto)) throw error;
    for (const photo of photos) photo.id = (await photo.send(model)).photo;
    return ask(question, body());
  }
}

export const refresh = oneAtATime(guarded(async (changedSince) => {
  const refines = state.models.find((one) => one.id === state.model)?.refines;
  const several = Boolean(state.about?.several); // there is nothing about a model that is being loaded
  find("multi-part").hidden = !several;
  find("multi").checked &&= several;
  find("answer-note").textContent = find("multi").checked ? EACH : BEST;
  find("refine-why").textContent = whyNot(refines);
  find("refine").disabled = !!whyNot(refines);
  find("refine").checked &&= !find("refine").disabled;
  find("gallery-part").hidden = !state.photos.length;
  let changed = null;
  let doubts = [];
  let expected = "";
  if (!state.photos.length || !finished().length) answers = [];
  else {
    const answer = await asked("scores", how());
    if (changedSince()) return;
    ({ answers, doubts, expected, changed = null } = answer);
  }
  find("doubts").replaceChildren(...doubts.map((sentence) => make("li", { textContent: sentence })));
  find("doubts").hidden = !doubts.length;
  find("expected").textContent = expected;
  selected = Math.max(0, Math.min(selected, state.photos.length - 1));
  showChanged(changed);
  showGallery();
  showAnswer();
  document.dispatchEvent(new Event("named"));
}));

// Why the photos cannot be learnt from together; empty where they can.
function whyNot(refines) {
  const beside = `${state.model.split("/")[0]}/`; // models of the same pictures
  const better = state.models.find((one) => one.refines && one.id.startsWith(beside));
  if (find("multi").checked) return "Not while several words may be true.";
  if (!refines) return `Not with this model: it names every photo by itself.${better ? ` Choose ${better.label} above, which learns from photos.` : " No model here learns from photos."}`;
  return state.photos.length < 2 ? "Not with one photo: add others, best several of each class." : "";
}

function showChanged(changed) {
  let note = "";
  if (changed && !changed.length) note = "Learning from the photos has changed no name.";
  else if (changed) {
    const list = changed.map(({ place, before, after }) => `${state.photos[place].name}: ${plain(before)} → ${plain(after)}`);
    note = `Learning from the photos has changed ${changed.length} of ${state.photos.length} names. ${list.slice(0, 10).join("; ")}.`;
  }
  find("refine-note").textContent = note;
}

function showGallery() {
  const tiles = state.photos.map((photo, place) => {
    const best = answers[place]?.names[0];
    const caption = best ? named(answers[place]) : photo.name;
    const tile = make("button", {}, picture(photo, { alt: "" }), caption);
    tile.setAttribute("aria-label", `${photo.name}: ${caption}`);
    tile.setAttribute("aria-pressed", place === selected);
    tile.addEventListener("click", () => {
      selected = place;
      for (const [other, item] of [...find("gallery").children].entries()) item.firstChild.setAttribute("aria-pressed", other === place);
      showAnswer();
    });
    return make("li", {}, tile);
  });
  find("gallery").replaceChildren(...tiles);
}

function showAnswer() {
  const photo = state.photos[selected];
  const answer = answers[selected];
  find("answer-part").hidden = !answer;
  find("answer-empty").hidden = !!answer;
  find("why-part").hidden = !(answer?.names.length > 1);
  find("reasons").replaceChildren();
  if (!answer) {
    find("answer-title").textContent = "What is it?";
    return;
  }
  find("answer-title").textContent = named(answer, ", ");
  find("shown").replaceChildren(picture(photo, { alt: photo.name }));
  const names = answer.names.slice(0, SHOWN);
  find("bars").replaceChildren(...names.map((name, place) => bar(plain(name), answer.lengths[place], percent(answer.probabilities[place]), false, "li")));
  find("why").textContent = `Why ${plain(names[0])} and not ${plain(names[1] ?? "")}?`;
}

// send : shows the photo to a model, and again where the server has forgotten it.
async function add(photo) {
  const { limits, photos } = state;
  if (photos.length >= limits.photos) throw new Refused(`At most ${limits.photos} photos are looked at together: remove the photos first.`);
  const id = (await photo.send(state.model)).photo;
  const known = photos.findIndex((one) => one.id === id);
  selected = known < 0 ? photos.push({ ...photo, id }) - 1 : known;
  return known < 0;
}

const SHOW = 1000; // milliseconds after which names of the photos that are there are shown while others are on their way

const addFiles = guarded(async (files) => {
  const shown = state.photos;
  const room = state.limits.photos - shown.length;
  const refused = [];
  const first = shown.length;
  let twice = 0;
  let last = Date.now();
  for (const [place, file] of files.slice(0, room).entries()) {
    sayAdding(`Looking at photo ${place + 1} of ${Math.min(files.length, room)} …`);
    const url = URL.createObjectURL(file);
    try {
      if (file.size > state.limits.bytes) throw new Refused(`it is larger than ${state.limits.bytes / 2 ** 20} MB`);
      if (!(await add({ name: file.name, url, file, send: (model) => sendPhoto(file, model) }))) {
        URL.revokeObjectURL(url);
        twice += 1;
      }
    } catch (error) {
      URL.revokeObjectURL(url);
      if (!(error instanceof Refused)) throw error;
      refused.push(`${file.name}: ${error.message}.`);
      if (!error.status) break; // nobody answers
    }
    if (state.photos !== shown) break; // they were removed meanwhile
    if (Date.now() - last > SHOW) {
      last = Date.now();
      refresh();
    }
  }
  if (state.photos.length > first) selected = first; // of several, the first
  sayAdding("Finding names …");
  await refresh();
  sayAdding("");
  if (files.length > room) refused.unshift(`At most ${state.limits.photos} photos are looked at together: ${files.length - Math.max(0, room)} of ${files.length} were left out.`);
  if (refused.length > 3) refused.splice(3, refused.length, `And ${refused.length - 3} more could not be looked at.`);
  if (twice) refused.push(`${twice} of ${files.length} photos were here already, perhaps under another name: each is shown once.`);
  if (refused.length) say(refused.join(" "));
});

function sayAdding(sentence) {
  find("adding").textContent = sentence;
  find("adding").hidden = !sentence;
}

export function showExamples() {
  find("examples-part").hidden = !state.about.examples.length;
  const of = state.model;
  const buttons = state.about.examples.map((url, number) => {
    const button = make("button", {}, make("img", { src: url, alt: "" }));
    button.setAttribute("aria-label", `Example ${number + 1}`);
    button.addEventListener("click", guarded(async () => {
      sayAdding("Looking at the example …");
      try {
        await add({ name: `example ${number + 1}.webp`, url, send: (model) => ask("example", { model, of, number }) });
        await refresh();
      } finally {
        sayAdding("");
      }
    }));
    return button;
  });
  find("examples").replaceChildren(...buttons);
  find("credits").textContent = state.about.credits;
}

for (const id of ["files", "folder"]) {
  find(id).addEventListener("change", async (event) => {
    const files = [...event.target.files];
    event.target.value = "";
    await addFiles(id === "folder" ? files.filter(isPicture) : files);
  });
}
const drop = find("drop");
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, async (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && !(find("name").hidden && find("sort").hidden)) {
      const files = await dropped(event.dataTransfer);
      if (files.length) await addFiles(files);
    }
  });
}
document.addEventListener("paste", (event) => {
  if (event.clipboardData.files.length && !find("name").hidden) addFiles([...event.clipboardData.files]);
});

let waiting;
whenEdited(() => {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, WAIT);
});
for (const id of ["refine", "multi"]) find(id).addEventListener("change", refresh);
find("clear").addEventListener("click", guarded(async () => {
  await ask("forget");
  state.photos.forEach((photo) => photo.url.startsWith("blob:") && URL.revokeObjectURL(photo.url));
  state.photos = [];
  await refresh();
}));
find("csv").addEventListener("click", guarded(async () => {
  const { csv } = await asked("table", namedFiles());
  download(new Blob([csv], { type: "text/csv" }), "names.csv");
}));
find("zip").addEventListener("click", guarded(() => downloadFolders(how())));
const namedFiles = () => ({ files: state.photos.map((photo) => photo.name), ...how() });

// The photos in folders by name, and what else belongs beside the folders.
export async function downloadFolders(about, beside = () => []) {
  const { photos } = state;
  const { places } = await asked("places", { files: photos.map((photo) => photo.name), ...about });
  const files = places.map((place, number) => [place, photos[number].file ?? drawn(photos[number])]);
  download(await zip([...files, ...(await beside(places))]), "photos by name.zip");
}

// An example as a file: of its own the page has what it shows.
const drawn = ({ url }) => new Blob([Uint8Array.from(atob(url.split(",")[1]), (letter) => letter.charCodeAt(0))]);

const list = new Intl.ListFormat("en");
const likeness = (known) => list.format(known.map(({ name, likeness }) => `${name} (${percent(likeness)})`));

// Why: what speaks for the best name and against the next one.
function near(title, classes, weighs) {
  const most = Math.max(...classes.map((one) => one.weight));
  const items = classes.map((one) => {
    const item = make("li");
    if (one.picture) item.append(make("img", { src: one.picture, alt: `A picture of ${plain(one.name)}` }));
    const counts = weighs ? `counts ${percent(one.weight / most)}` : `close ${one.closeness.toFixed(2)}`;
    item.append(make("strong", { textContent: plain(one.name) }), make("br"), counts, make("br"), `looks like it: ${percent(one.likeness)}`);
    return item;
  });
  return [make("h3", { textContent: title }), make("ul", { className: "near", ariaLabel: title }, ...items)];
}

// What the photo looks like, what speaks for the first name, and what against the second.
export function reasons(why, first, second) {
  if (why.covers) {
    return [
      make("p", { textContent: `Of what the model knows, this photo looks most like ${likeness(why.looks)}.` }),
      make("p", { textContent: `For ${plain(first)}: of the classes that this name resembles, it looks like ${likeness(why.covers[first])}.` }),
      make("p", { textContent: `Against ${plain(second)}: that name resembles ${likeness(why.covers[second])} most.` }),
      make("p", { className: "note", textContent: "A percentage says how much the photo looks like that class, among all that the model knows." }),
    ];
  }
  const parts = [];
  if (why.attributes.length) {
    const most = Math.max(...why.attributes.map((one) => Math.abs(one.part)));
    parts.push(make("h3", { textContent: `What decided between ${plain(first)} and ${plain(second)}` }));
    parts.push(...why.attributes.map((one) => bar(plain(one.name), Math.abs(one.part) / most, `${one.part < 0 ? "against" : "for"}`, one.part < 0)));
  }
  const explained = why.weighs
    ? "For every class the model learns most from the known classes whose descriptions are nearest to it. Counts: how much, against the nearest. Looks like it: how the model shares the photo out among these."
    : "The known classes whose descriptions are nearest. Close: 1 means the same description. Looks like it: how the model shares the photo out among these.";
  const alone = find("refine").checked ? " All this is of the photo by itself, before the model learnt from the others." : "";
  parts.push(make("p", { className: "note", textContent: explained + alone }));
  for (const name of [first, second]) parts.push(...near(`Known classes nearest to ${plain(name)}`, why.near[name], why.weighs));
  return parts;
}

find("why").addEventListener("click", guarded(async () => {
  const [first, second] = answers[selected].names;
  const why = await asked("why", { first, second }, [state.photos[selected]]);
  find("reasons").replaceChildren(...reasons(why, first, second));
}));
