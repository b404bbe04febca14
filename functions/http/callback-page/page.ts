import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { pathStep } from '../../../sdk/base/json.ts'
import type { Problem } from '../../../sdk/index.ts'
import type { Form } from '../form.ts'
import { type Field, type FormShape, FROM_PAGE } from './fields.ts'

const STYLE = `
:root { color-scheme: light dark; font: 1.0625rem/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; white-space: pre-line; }
small, .about { opacity: .75; }
label, .field { display: block; margin: 1.25rem 0 0; }
label { font-weight: 600; }
small { display: block; font-weight: 400; }
input, select, textarea, button { font: inherit; box-sizing: border-box; width: 100%; padding: .6rem; margin-top: .25rem; border: 1px solid #8888; border-radius: .4rem; }
textarea { font-family: ui-monospace, monospace; min-height: 6rem; }
button { margin-top: 1.75rem; border: 0; background: #1a5fb4; color: #fff; font-weight: 600; cursor: pointer; }
.problem { color: #c01c28; font-weight: 600; margin: .25rem 0 0; }
@media (prefers-color-scheme: dark) { .problem { color: #ff8a80; } }
`

/** Nothing is loaded and nothing runs; the token goes nowhere else. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
}

type Html = ReturnType<typeof html>

function page(status: number, title: string, body: Html): Response {
  const document = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${raw(STYLE)}</style></head>
<body><main>${body}</main></body>
</html>
`
  return new Response(String(document), { status, headers: HEADERS })
}

/** Says one thing. */
export function messagePage(status: number, title: string, text: string): Response {
  return page(status, title, html`<h1>${title}</h1><p>${text}</p>`)
}

export interface QuestionPage {
  workflow: string
  name: string
  question: string | undefined
  until: number | undefined
  /** Undefined where only a service may answer. */
  shape: FormShape | undefined
}

/** What was filled in, and what is wrong with it. */
export interface Refused {
  filledIn: Form
  problems: readonly Problem[]
}

export function questionPage(
  { workflow, name, question = name, until, shape }: QuestionPage,
  refused?: Refused,
): Response {
  const about = html`<p class="about">${workflow} · ${name}${until === undefined ? '' : html` · open until ${new Date(until).toUTCString()}`}</p>`
  const body = shape
    ? html`<form method="post">${general(shape, refused)}${shape.fields.map((field) => fieldHtml(field, shape, refused))}<input type="hidden" name="${FROM_PAGE}" value="1"><button>Send</button></form>`
    : html`<p>This address is for a service, which posts its answer here.</p>`
  return page(refused ? 422 : 200, question, html`<h1>${question}</h1>${about}${body}`)
}

const pathOf = ({ name }: Field, { isWhole }: FormShape): string => (isWhole ? '$' : `$${pathStep(name)}`)

/** Whether a problem is shown beside the field: it is about it, or about something in it. */
function isAbout({ path }: Problem, field: Field, shape: FormShape): boolean {
  const own = pathOf(field, shape)
  return (
    path === own ||
    ((shape.isWhole || field.kind === 'json') && path.startsWith(own) && /^[.[]/.test(path.slice(own.length)))
  )
}

function general(shape: FormShape, refused: Refused | undefined): Html | Html[] {
  const others = (refused?.problems ?? []).filter(
    (problem) => !shape.fields.some((field) => isAbout(problem, field, shape)),
  )
  return others.map(
    ({ path, message }) => html`<p class="problem" role="alert">${path === '$' ? '' : `${path}: `}${message}</p>`,
  )
}

function fieldHtml(field: Field, shape: FormShape, refused: Refused | undefined): Html {
  const problems = (refused?.problems ?? []).filter((problem) => isAbout(problem, field, shape))
  const own = pathOf(field, shape)
  const shown = problems.map(
    ({ path, message }) =>
      html`<p class="problem" role="alert">${path === own ? '' : `${path.slice(own.length).replace(/^\./, '')}: `}${message}</p>`,
  )
  const hint = field.hint === undefined ? '' : html`<small>${field.hint}</small>`
  const input = inputHtml(field, valueIn(field, refused), problems.length > 0)
  return html`<div class="field"><label>${field.label}${hint}${input}</label>${shown}</div>`
}

/** What was filled in stays there. */
function valueIn({ name, initial }: Field, refused: Refused | undefined): string | undefined {
  return refused ? refused.filledIn.get(name) : initial
}

function inputHtml(
  { name, kind, inputType, choices, isRequired }: Field,
  value: string | undefined,
  isWrong: boolean,
): Html {
  const invalid = raw(isWrong ? ' aria-invalid="true"' : '')
  const required = raw(isRequired ? ' required' : '')
  switch (kind) {
    case 'choice': {
      const options = choices!.map(
        (choice) =>
          html`<option value="${String(choice)}"${raw(String(choice) === value ? ' selected' : '')}>${wordFor(choice)}</option>`,
      )
      return html`<select name="${name}"${required}${invalid}><option value=""></option>${options}</select>`
    }
    case 'number':
      return html`<input type="number" step="any" name="${name}" value="${value ?? ''}"${required}${invalid}>`
    case 'text':
      return html`<input type="${inputType}" name="${name}" value="${value ?? ''}"${required}${invalid}>`
    case 'json':
      return html`<textarea name="${name}" spellcheck="false" placeholder="JSON, such as true or {&quot;approved&quot;: true}"${required}${invalid}>${value ?? ''}</textarea>`
  }
}

const wordFor = (choice: string | number | boolean): string =>
  choice === true ? 'yes' : choice === false ? 'no' : String(choice)
