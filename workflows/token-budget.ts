import { limit, workflow } from 'overwinter'
import * as z from 'zod'

/** How many tokens of the model each tenant may use in a minute. `modelTokens.for('acme')` is acme's limit. */
export const modelTokens = limit('model-tokens', { rate: 10_000, per: '1m' })

const Question = z.object({
  tenant: z.string().min(1),
  prompt: z.string().min(1),
  /** The longest answer, in tokens. */
  longest: z.int().min(1).max(9_000).default(500),
})

/** The rough cost of a question: four characters are a token, and the answer has its maximum length. */
const tokensOf = ({ prompt, longest }: { prompt: string; longest: number }): number =>
  Math.ceil(prompt.length / 4) + longest

/** Asks a model, within the tenant's budget. A tenant who has used it up waits for the next minute; others do not. */
export const assistant = workflow('assistant', { input: Question }, async (ctx, { tenant, ...question }) => {
  const answer = await ctx.step('ask the model', () => model(question.prompt), {
    limit: modelTokens.for(tenant),
    input: question,
    cost: tokensOf,
  })
  return { tenant, answer }
})

/** A stand-in for the model, with short answers. */
function model(prompt: string): string {
  return `${prompt.trim().split(/\s+/).length} words`
}
