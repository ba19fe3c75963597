// What the browser keeps for these pages. Where it keeps nothing (private windows, blocked storage) they still work.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem("vitrine." + name);
  } catch {
    return null;
  }
}

/** False where the browser has no room or allows none. */
export function keep(name: string, value: string | null): boolean {
  try {
    if (value === null) localStorage.removeItem("vitrine." + name);
    else localStorage.setItem("vitrine." + name, value);
    return true;
  } catch {
    return false;
  }
}

const keyName = "vitrine.key";
let keyInMemory: string | null = null;

/** The API key: for this tab, or for this browser where that was asked for. */
export function apiKey(): string | null {
  if (keyInMemory !== null) return keyInMemory;
  try {
    return sessionStorage.getItem(keyName) ?? localStorage.getItem(keyName);
  } catch {
    return null;
  }
}

export function setApiKey(key: string | null, remember = false): void {
  keyInMemory = key;
  try {
    sessionStorage.removeItem(keyName);
    localStorage.removeItem(keyName);
    if (key !== null) (remember ? localStorage : sessionStorage).setItem(keyName, key);
  } catch {
    return; // it lives as long as the page
  }
}
