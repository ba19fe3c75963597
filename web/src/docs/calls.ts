import { python } from "../snippets";

// Calls of endpoints that the official clients do not have, with what Python and JavaScript bring.

export function pythonCall(origin: string, method: string, path: string, body?: unknown): string {
  const headers = `{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]${body === undefined ? "" : ', "Content-Type": "application/json"'}}`;
  const data = body === undefined ? "" : `,\n    data=json.dumps(${python(body)}).encode()`;
  const show = path === "/metrics" ? "answer.read().decode()" : "json.load(answer)";
  return `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    "${origin}${path}"${data},\n    headers=${headers},\n    method="${method}",\n)\nwith urllib.request.urlopen(request) as answer:\n    print(${show})\n`;
}

export function typescriptCall(origin: string, method: string, path: string, body?: unknown): string {
  const headers = `{ Authorization: \`Bearer \${process.env.OPENAI_API_KEY}\`${body === undefined ? "" : ', "Content-Type": "application/json"'} }`;
  const data = body === undefined ? "" : `\n  body: JSON.stringify(${JSON.stringify(body)}),`;
  const show = path === "/metrics" ? "text" : "json";
  return `const answer = await fetch("${origin}${path}", {\n  method: "${method}",\n  headers: ${headers},${data}\n});\nconsole.log(await answer.${show}());\n`;
}
