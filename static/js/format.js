// How values look in the page's language; the same as coordination/templatetags/live.py.
const language = document.documentElement.lang;
const number = (options) => {
  const format = new Intl.NumberFormat(language, options);
  return (value) => format.format(value);
};
const digits = (count) => ({ minimumFractionDigits: count, maximumFractionDigits: count });

const integer = number(digits(0));
const oneDigit = number({ ...digits(1), useGrouping: false });
const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"];

function bytes(value) {
  let unit = 0;
  while (value >= 999.95 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit ? oneDigit(value) : integer(value)} ${BYTE_UNITS[unit]}`;
}

function clock(seconds) {
  const two = (value) => String(value).padStart(2, "0");
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

const relative = new Intl.RelativeTimeFormat(language, { numeric: "always" });
export const ago = (seconds) =>
  seconds < 60 ? relative.format(-Math.round(seconds), "second") : relative.format(-Math.round(seconds / 60), "minute");

const FORMATS = {
  integer,
  loss: number(digits(4)),
  tick: number({ maximumFractionDigits: 4 }),
  bytes,
  clock,
  digest: (value) => value.slice(0, 12),
  rule: (value) => document.querySelector(`[data-rule="${value}"]`)?.textContent ?? value,
  refusal: (code) => document.querySelector(`[data-refusal="${code}"]`)?.textContent ?? code,
  text: String,
  presence: (value) => document.querySelector(`#presence option[value="${value}"]`)?.textContent ?? value,
  phase: (value) => document.querySelector(`.pill [data-phases="${value}"]`).textContent.trim(),
};

export const shown = (value, how) => (value === null || value === undefined || value === "" ? "–" : FORMATS[how](value));
export const field = (source, path) => path.split(".").reduce((value, key) => value?.[key], source);
export const fill = (source, message) =>
  message.replace(/\{([\w.]+):(\w+)\}/g, (_, path, how) => shown(field(source, path), how));
