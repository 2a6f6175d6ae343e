// A zip of files, made in the browser: the photos go nowhere. They are stored as they are, being compressed already.

const TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

// Numbers of two bytes, and of four, the least byte first.
const two = (...values) => values.flatMap((value) => [value & 255, (value >>> 8) & 255]);
const four = (...values) => values.flatMap((value) => two(value & 0xffff, value >>> 16));

const LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50;
const VERSION = 20, UTF8 = 0x800, STORED = 0;

// Date and time as zips have them, in steps of two seconds from 1980 on.
function stamp(milliseconds) {
  const date = new Date(Math.max(milliseconds, Date.UTC(1980, 0, 2)));
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return two(time, ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate());
}

// files : [place, blob] of each.
export async function zip(files) {
  const parts = [], listed = [];
  let offset = 0;
  for (const [place, blob] of files) {
    const name = new TextEncoder().encode(place);
    const sum = checksum(new Uint8Array(await blob.arrayBuffer()));
    const about = [...two(VERSION, UTF8, STORED), ...stamp(blob.lastModified ?? Date.now()), ...four(sum, blob.size, blob.size), ...two(name.length, 0)];
    const head = Uint8Array.from([...four(LOCAL), ...about]);
    parts.push(head, name, blob);
    listed.push(Uint8Array.from([...four(CENTRAL), ...two(VERSION), ...about, ...two(0, 0, 0), ...four(0, offset)]), name);
    offset += head.length + name.length + blob.size;
  }
  const length = listed.reduce((sum, part) => sum + part.length, 0);
  const end = Uint8Array.from([...four(END), ...two(0, 0, files.length, files.length), ...four(length, offset), ...two(0)]);
  return new Blob([...parts, ...listed, end], { type: "application/zip" });
}
