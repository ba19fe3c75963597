// Elements made by hand. Text always goes in as text: nothing here takes markup.

export type Child = Node | string | number | null | undefined | false;
type Listener = (event: never) => void;
type Value = string | number | boolean | null | undefined | Listener;

/** `h("button", { class: "pri", onclick: send }, "Send")`. A false, null or undefined attribute is left out. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  setAttributes(element, attributes);
  element.append(...children.filter(isShown).map(toNode));
  return element;
}

export function svg(name: string, attributes: Record<string, Value> = {}, ...children: Node[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter(isShown).map(toNode));
}

function setAttributes(element: Element, attributes: Record<string, Value>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as unknown as EventListener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function isShown(child: Child): child is Node | string | number {
  return child !== null && child !== undefined && child !== false;
}

function toNode(child: Node | string | number): Node | string {
  return typeof child === "number" ? String(child) : child;
}

/** A custom property or style that the content policy lets only scripts set. */
export function styled<E extends HTMLElement | SVGElement>(element: E, styles: Record<string, string>): E {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value);
  return element;
}

/** Copies and says so on the button for a moment. Pages without TLS on other machines have no clipboard API. */
export async function copyText(text: string, button: HTMLElement, done: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
  } else {
    const area = h("textarea", { class: "vh", readonly: true });
    area.value = text;
    (button.closest("dialog") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = done;
  setTimeout(() => (button.textContent = before), 1200);
}
