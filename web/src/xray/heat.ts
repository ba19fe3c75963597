// The one hue of heat, mixed by value from 0 to 1, in the colours of the theme.

export interface Heat {
  /** Behind text: stops where ink is still read well. */
  text(value: number): string;
  /** 256 colours, red, green, blue, for the square root of a value. */
  steps: Uint8ClampedArray;
}

let made: { theme: string; heat: Heat } | null = null;

export function heat(): Heat {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  const theme = token("--heat-0") + token("--heat-1");
  if (made?.theme !== theme) made = { theme, heat: scaleOf(token("--heat-0"), token("--heat-1"), Number(token("--heat-max"))) };
  return made.heat;
}

function scaleOf(from: string, to: string, most: number): Heat {
  const [low, high] = [from, to].map((text) => text.split(",").map(Number)) as [number[], number[]];
  const mix = (value: number): number[] => low.map((part, idx) => Math.round(part + (high[idx]! - part) * value));
  const steps = new Uint8ClampedArray(3 * 256);
  for (let step = 0; step < 256; ++step) steps.set(mix(step / 255), 3 * step);
  return { text: (value) => `rgb(${mix(value * most).join(",")})`, steps };
}
