// What all parts of the page share: asking the server, saying what went wrong, making elements.

export const find = (id) => document.getElementById(id);

export const plain = (name) => name.replaceAll("_", " ");

export function percent(share) {
  // Neither certain nor impossible, where rounding would say so.
  if (share === 0) return "0%";
  if (share < 0.0005) return "<0.1%";
  if (share > 0.995 && share < 1) return ">99%";
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
}

// What several parts know: the chosen model, what may be sent, and the photos, {id, send, url, name}.
export const state = { model: "", models: [], about: null, limits: {}, photos: [] };

export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

// The server does not have a photo for this model, or no longer.
export class UnknownPhoto extends Refused {}

async function read(response) {
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Refused(answer.error, response.status);
  if (answer.unknown_photo) throw new UnknownPhoto(answer.unknown_photo, response.status);
  return answer;
}

// The visitor's key, which the server gives out. All tabs of a browser have the same one, kept for the next time.
const KEY = "visitor";
let visitor = "";
try {
  visitor = localStorage.getItem(KEY) ?? "";
} catch {} // a browser that keeps nothing: every tab is a visitor of its own

async function post(address, options) {
  try {
    return await fetch(address, { method: "POST", ...options, headers: { ...options.headers, "X-Visitor": visitor } });
  } catch {
    throw new Refused("The page's server does not answer: is the command that opened it still running?", 0);
  }
}

async function send(address, options) {
  let response = await post(address, options);
  if (response.status === 403) { // the server was started again, or has forgotten this visitor
    await greet();
    response = await post(address, options);
  }
  return read(response);
}

// The first question: all models, and the visitor's key.
export async function greet() {
  const answer = await read(await post("api/models", {}));
  visitor = answer.visitor;
  try {
    localStorage.setItem(KEY, visitor);
  } catch {} // it holds for this tab
  return answer;
}

// What a tab of the browser keeps when it is loaded again, and no other tab sees.
export function kept(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // a browser that keeps nothing
  }
}
export function keep(key, text) {
  try {
    if (text === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {} // it holds until the page is loaded again
}

// One question at a time: what changes meanwhile is asked about when the answer is here, once.
export function oneAtATime(work) {
  let underway = null;
  let again = false;
  const all = async () => {
    try {
      while (again) {
        again = false;
        await work(() => again);
      }
    } finally {
      underway = null;
    }
  };
  return () => {
    again = true;
    underway ??= all();
    return underway;
  };
}

export const ask = (question, about = {}) =>
  send(`api/${question}`, { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ model: state.model, ...about }) });

export const sendPhoto = (photo, model) =>
  send(`api/photo?model=${encodeURIComponent(model)}`, { body: photo });

// Files that were dropped; of a folder, all that lie below it.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map(below))).flat();
}

async function below(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) { // it gives a hundred at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    found.push(...(await Promise.all(some.map(below))).flat());
  }
  return found.filter(isPicture);
}

// Browsers know the type of most pictures; cameras and microscopes write others.
export const isPicture = (file) => file.type.startsWith("image/") || /\.(hei[cf]|tiff?|bmp|jp2|avif)$/i.test(file.name);

// A picture that the browser itself cannot show is drawn by the server.
export function picture(photo, properties) {
  const image = make("img", { ...properties, src: photo.url });
  image.addEventListener("error", async () => {
    photo.drawing ??= draw(photo); // once, however many places show it
    const drawn = await photo.drawing;
    if (drawn) image.src = photo.url = drawn;
  }, { once: true });
  return image;
}

async function draw(photo) {
  try {
    return photo.file ? (await sendFile("api/preview", photo.file)).picture : "";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return ""; // it stays without a picture
  }
}

export const sendFile = (address, file) => send(address, { body: file });

// The best name with its probability, or where that is too little its group, or what it would have been; or several names.
export function named(answer, between = " ") {
  if (answer.several) return answer.said.map((name, place) => `${plain(name)} ${percent(answer.probabilities[place])}`).join(", ") || "none of these";
  if (answer.grouped) return `${plain(answer.text)}${between}${percent(answer.sureness)}`;
  const best = `${plain(answer.names[0])}${between}${percent(answer.probabilities[0])}`;
  return answer.none_of_these ? `none of these (best: ${best})` : best;
}

export function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // a large one is still being written
}

// A sentence stays until something else is done, or it is closed: nobody has to read fast.
export function say(sentence) {
  find("message").hidden = !sentence;
  find("message-text").textContent = sentence;
}
find("message-close").addEventListener("click", () => say(""));

// Run what a button starts; errors become the sentence at the top.
export const guarded = (work) => async (...given) => {
  try {
    say("");
    return await work(...given);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message[0].toUpperCase() + error.message.slice(1));
  }
};

export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function bar(label, part, number, against = false, tag = "div") {
  const length = make("i", { className: against ? "against" : "" });
  length.style.width = `${100 * part}%`;
  return make(
    tag,
    { className: "bar" },
    make("span", { textContent: label }),
    make("span", { className: "length" }, length),
    make("span", { className: "number", textContent: number }),
  );
}
