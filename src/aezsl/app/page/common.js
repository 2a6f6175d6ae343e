// What all parts of the page share: asking the server, saying what went wrong, making elements.

export const find = (id) => document.getElementById(id);

export const plain = (name) => name.replaceAll("_", " ");

export function percent(share) {
  // Neither certain nor impossible, where rounding would say so.
  if (share > 0 && share < 0.0005) return "<0.1%";
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

async function read(response) {
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Refused(answer.error, response.status);
  return answer;
}

async function send(address, options) {
  let response;
  try {
    response = await fetch(address, { method: "POST", ...options });
  } catch {
    throw new Refused("The page's server does not answer: is the command that opened it still running?", 0);
  }
  return read(response);
}

export const ask = (question, about = {}) =>
  send(`api/${question}`, { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ model: state.model, ...about }) });

export const sendPhoto = (photo, model) =>
  send(`api/photo?model=${encodeURIComponent(model)}`, { body: photo });

export const sendFile = (address, file) => send(address, { body: file });

// The best name with its probability; where that is too little, what it would have been.
export function named(answer, between = " ") {
  const best = `${plain(answer.names[0])}${between}${percent(answer.shares[0])}`;
  return answer.none ? `none of these (best: ${best})` : best;
}

let saying;
export function say(sentence) {
  const message = find("message");
  clearTimeout(saying);
  message.textContent = sentence;
  message.hidden = !sentence;
  if (sentence) saying = setTimeout(() => say(""), 12000);
}

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
