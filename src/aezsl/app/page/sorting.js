// Sort: all photos in groups by name. What the visitor corrects, the other names follow; every step can be undone.

import { download, find, guarded, keep, kept, make, oneAtATime, picture, plain, state } from "./common.js";
import { addClass, describe, removeClass } from "./classes.js";
import { asked, downloadFolders, finished, reasons, refresh } from "./naming.js";
import { fill } from "./teaching.js";

const NONE = "none of these";
const KEPT = "corrections";
const PAIRS = 3;
const list = new Intl.ListFormat("en");

// Steps of this tab: the photo, its class (null: none of these), and the class that it brought along; or lines, each of a
// class that was described: its name, the text and the former one.
const steps = JSON.parse(kept(KEPT) ?? "[]");
let answers = [];
let worth = [];
let confused = []; // pairs of names
let watched = null; // the pair one of whose names was just described, as it was before
let shown = new Map(); // photo -> name, as last shown
let before = new Map(); // the same before the last step
let opened = null; // the photo that is asked about

// The last step of a photo counts, if its class is there.
function corrections() {
  const names = finished().map(([name]) => name.trim());
  const found = Object.fromEntries(steps.filter(({ photo }) => photo).map(({ photo, name }) => [photo, name]));
  return Object.fromEntries(Object.entries(found).filter(([photo, name]) => (name === null || names.includes(name)) && state.photos.some(({ id }) => id === photo)));
}

const update = oneAtATime(guarded(async (changedSince) => {
  const there = state.photos.length > 0 && finished().length > 0;
  find("sort-part").hidden = !there;
  find("undo").disabled = !steps.length;
  if (!there) {
    find("sort-note").textContent = "Add photos under Name, best a whole folder: they are shown here by name.";
    return;
  }
  find("sort-note").textContent = "Finding names …";
  const given = corrections();
  const pair = watched?.names.every((name) => finished().some(([one]) => one.trim() === name)) ? watched.names : null;
  const answer = await asked("sort", { corrections: given, pair });
  if (changedSince()) return;
  ({ answers, worth, confused } = answer);
  show(given);
}));

const nameOf = (answer) => (answer.none_of_these ? NONE : answer.names[0]);

function show(given) {
  const names = finished().map(([name]) => name.trim());
  const groups = new Map([...names, NONE].map((name) => [name, []]));
  const now = new Map();
  for (const [place, photo] of state.photos.entries()) {
    const name = nameOf(answers[place]);
    now.set(photo.id, name);
    groups.get(name).push({ photo, place });
  }
  const changed = [...now].filter(([id, name]) => before.has(id) && before.get(id) !== name && !(id in given)).map(([id]) => id);
  shown = now;
  const tiles = (list, caption) => list.map(({ photo, place }) => make("li", {}, tile(photo, answers[place], caption, photo.id in given, changed.includes(photo.id))));
  for (const list of groups.values()) list.sort((one, other) => answers[other.place].probabilities[0] - answers[one.place].probabilities[0]);
  const some = [...groups].filter(([, list]) => list.length).map(([name, list]) => {
    const title = make("h3", { textContent: `${plain(name)} (${list.length})` });
    return target(make("section", { className: "group", ariaLabel: plain(name) }, title, make("ul", { className: "tiles" }, ...tiles(list))), name);
  });
  const empty = [...groups].filter(([, list]) => !list.length).map(([name]) => target(make("span", { className: "group none", textContent: plain(name) }), name));
  find("groups").replaceChildren(...some, ...empty);
  find("worth").replaceChildren(...tiles(worth.map((place) => ({ photo: state.photos[place], place })), (answer) => plain(nameOf(answer))));
  find("worth-part").hidden = !worth.length;
  showConfused();
  const count = Object.keys(given).length;
  const idle = new Set(steps.filter(({ photo }) => now.has(photo) && !(photo in given)).map(({ photo }) => photo)).size;
  const after = watched && confused.find(({ names: pair }) => pair.every((name) => watched.names.includes(name)));
  find("sort-note").textContent = [
    after ? `${plain(after.names[0])} and ${plain(after.names[1])}: ${about(watched.photos)} mixed up before, ${about(after.photos)} now.` : "",
    count ? `Corrected: ${count} of ${state.photos.length} photos.` : "",
    before.size ? `Other names that changed: ${changed.length}.` : "",
    idle ? `Corrections to names that are not among the words any more: ${idle}.` : "",
  ].filter(Boolean).join(" ");
}

const about = (photos) => (photos < 0.5 ? "hardly a photo" : `about ${Math.round(photos)} photo${Math.round(photos) === 1 ? "" : "s"}`);

// Pairs of names, what tells them apart, and their descriptions to be changed.
function showConfused() {
  const described = new Map(finished().map(([name, text]) => [name.trim(), text.trim()]));
  const rows = confused.slice(0, PAIRS).filter(({ photos }) => photos >= 0.5).map((pair) => {
    const [first, second] = pair.names.map(plain);
    const apart = pair.apart.map((known, place) => (known.length ? `${plain(pair.names[place])} is more like ${list.format(known)}` : "")).filter(Boolean);
    const form = state.about.describable ? [descriptions(pair, described)] : [];
    return make("li", {}, make("strong", { textContent: `${first} and ${second}` }), `: ${about(pair.photos)}. ${apart.join("; ")}${apart.length ? "." : ""}`, ...form);
  });
  find("confused").replaceChildren(...rows);
  find("confused-part").hidden = !rows.length;
}

function descriptions(pair, described) {
  const fields = pair.names.map((name) => make("input", { value: described.get(name) || name, maxLength: state.limits.description }));
  const labels = pair.names.map((name, place) => make("label", {}, `What ${plain(name)} looks like`, fields[place]));
  const form = make("form", {}, ...labels, make("button", { textContent: "See what that changes" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const texts = fields.map((field, place) => (field.value.trim() === pair.names[place] ? "" : field.value.trim()));
    const lines = pair.names.map((name, place) => ({ name, text: texts[place], former: described.get(name) ?? "" })).filter(({ text, former }) => text !== former);
    if (!lines.length) return;
    before = shown;
    watched = pair;
    steps.push({ lines });
    for (const { name, text } of lines) describe(name, text);
    changed(true);
  });
  return form;
}

// caption : of a tile that stands outside its group.
function tile(photo, answer, caption, corrected, changed) {
  const about = corrected ? "corrected" : changed ? `was ${plain(before.get(photo.id))}` : "";
  const className = [corrected && "corrected", changed && "changed"].filter(Boolean).join(" ");
  const button = make("button", { draggable: true, className }, picture(photo, { alt: "", loading: "lazy" }), caption?.(answer) ?? about);
  button.dataset.photo = photo.id;
  button.setAttribute("aria-label", `${photo.name}: ${plain(nameOf(answer))} ${about}`.trim());
  button.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", photo.id));
  button.addEventListener("click", () => open(photo, answer));
  return button;
}

// A place that photos of this tab are dragged to; files from elsewhere are new photos.
function target(element, name) {
  element.addEventListener("dragover", () => element.classList.add("over"));
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("over");
    const place = state.photos.findIndex(({ id }) => id === event.dataTransfer.getData("text/plain"));
    if (place < 0) return;
    if (name === undefined) open(state.photos[place], answers[place], true);
    else correct(state.photos[place], name === NONE ? null : name);
  });
  return element;
}

function open(photo, answer, fresh = false) {
  opened = photo;
  find("which-why").open = false;
  find("which-why").hidden = answer.names.length < 2;
  find("which-shown").replaceChildren(picture(photo, { alt: photo.name }));
  const names = answer.names.includes(NONE) ? answer.names : [...answer.names, NONE];
  find("which-names").replaceChildren(...names.map((name) => {
    const button = make("button", { className: name === nameOf(answer) ? "" : "plain", textContent: plain(name) });
    button.addEventListener("click", () => choose(name === NONE ? null : name));
    return button;
  }));
  find("which-new").value = "";
  find("which").showModal();
  (fresh ? find("which-new") : find("which-names").firstChild).focus();
}

// Why the photo that is asked about has its name: what it looks like, what speaks against the next name, its neighbours.
find("which-why").addEventListener("toggle", guarded(async () => {
  if (!find("which-why").open) return;
  find("which-reasons").replaceChildren("Looking …");
  const photo = opened;
  const place = state.photos.indexOf(photo);
  const [first, second] = answers[place].names;
  const why = await asked("why", { first, second, place, corrections: corrections() });
  if (photo !== opened) return;
  const near = why.neighbours.filter(({ place: other }) => state.photos[other]);
  const same = near.filter(({ said }) => said.includes(first)).length;
  const others = near.filter(({ said }) => said.includes(second)).length;
  const pictures = near.map(({ place: other, said }) => make("li", {}, picture(state.photos[other], { alt: state.photos[other].name }), plain(said[0] ?? NONE)));
  const around = near.length
    ? [make("p", { textContent: `Of the ${near.length} photos here that look most like it, ${same} ${same === 1 ? "is" : "are"} called ${plain(first)} and ${others} ${plain(second)}.` }), make("ul", { className: "near", ariaLabel: "Photos that look most like it" }, ...pictures)]
    : [];
  find("which-reasons").replaceChildren(...(photo.id in corrections() ? [make("p", { textContent: "You gave it this name. Without that:" })] : []), ...reasons(why, first, second), ...around);
}));

function choose(name, line) {
  find("which").close();
  return correct(opened, name, line);
}

// line : of the class that comes with it, with its description.
async function correct(photo, name, line) {
  before = shown;
  watched = null;
  steps.push({ photo: photo.id, name, line });
  if (line) addClass(line);
  await changed(line);
  document.querySelector(`#groups [data-photo="${photo.id}"]`)?.focus();
}

async function changed(line) {
  keep(KEPT, JSON.stringify(steps));
  await (line ? refresh() : update()); // the names under Name have the class, too
}

async function undo() {
  const { line, lines = [] } = steps.pop();
  before = shown;
  watched = null;
  if (line) removeClass(line);
  for (const { name, former } of lines) describe(name, former);
  await changed(line || lines.length);
}

find("undo").addEventListener("click", undo);
document.addEventListener("keydown", (event) => {
  const free = !find("sort").hidden && !find("which").open && !find("undo").disabled;
  if (free && event.key === "z" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    undo();
  }
});
find("which-close").addEventListener("click", () => find("which").close());
find("which-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const line = find("which-new").value.trim();
  const name = line.split(":")[0].trim();
  const known = finished().some(([one]) => one.trim() === name);
  if (name) choose(name === NONE ? null : name, known || name === NONE ? undefined : line);
});
target(find("new-group"));

// Where a photo lies below the folder that was chosen.
const below = ({ file, name }) => file?.webkitRelativePath?.split("/").slice(1).join("/") || name;

// An example has no file that a correction could be of.
const ofFiles = () => Object.fromEntries(Object.entries(corrections()).filter(([id]) => state.photos.find((photo) => photo.id === id).file));
const table = async (files) => new Blob([(await asked("corrected", { files, corrections: ofFiles() })).csv], { type: "text/csv" });

find("sort-csv").addEventListener("click", guarded(async () => download(await table(state.photos.map(below)), "corrections.csv")));
find("sort-zip").addEventListener("click", guarded(() =>
  downloadFolders({ corrections: corrections() }, async (places) => (Object.keys(ofFiles()).length ? [["corrections.csv", await table(places)]] : []))));
find("sort-teach").addEventListener("click", () => {
  const given = ofFiles();
  const files = (name) => state.photos.filter(({ id }) => given[id] === name).map(({ file }) => file);
  fill(finished().map(([name, text]) => ({ name: name.trim(), text: text.trim() || name.trim(), files: files(name.trim()) })));
  find("tab-teach").click();
});

for (const event of ["named", "chosen"]) {
  document.addEventListener(event, () => {
    find("sort-teach").hidden = find("tab-teach").hidden;
    if (!find("sort").hidden) update();
  });
}
