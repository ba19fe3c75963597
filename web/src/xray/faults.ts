import { ApiError } from "../api";
import { h } from "../dom";
import { t } from "../i18n";
import { errorNote } from "../shell";

/** What went wrong, with a way to try again: at once, or when the server said. */
export function faultNote(error: unknown, again: () => void): HTMLElement {
  const button = h("button", { type: "button", onclick: again }, t("shell.again"));
  const wait = h("span", { class: "num" });
  const note = h("div", { class: "fault" }, errorNote(error), h("p", {}, button, " ", wait));
  const until = error instanceof ApiError && error.retryAfterS !== null ? Date.now() + 1000 * error.retryAfterS : 0;
  const tick = (): void => {
    const leftS = Math.ceil((until - Date.now()) / 1000);
    button.disabled = leftS > 0;
    wait.textContent = leftS > 0 ? t("chat.retry", { seconds: leftS }) : "";
    if (leftS > 0) setTimeout(tick, 500);
  };
  tick();
  return note;
}
