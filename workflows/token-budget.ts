import { limit, workflow } from 'overwinter'
import * as z from 'zod'

/** How many tokens each tenant may use of the model in a minute. `modelTokens.for('acme')` is acme's. */
export const modelTokens = limit('model-tokens', { rate: 10_000, per: '1m' })

const Question = z.object({
  tenant: z.string().min(1),
  prompt: z.string().min(1),
  /** How long the answer may get, in tokens. */
  longest: z.int().min(1).max(9_000).default(500),
})

/** What a question will cost, roughly: four characters are a token, and the answer is as long as it may get. */
const tokensOf = ({ prompt, longest }: { prompt: string; longest: number }): number =>
  Math.ceil(prompt.length / 4) + longest

/** Asks a model, within the budget of the tenant who wants to know. Who has used it up waits for the next minute; the others do not. */
export const assistant = workflow('assistant', { input: Question }, async (ctx, { tenant, ...question }) => {
  const answer = await ctx.step('ask the model', () => model(question.prompt), {
    limit: modelTokens.for(tenant),
    input: question,
    cost: tokensOf,
  })
  return { tenant, answer }
})

/** A stand-in for the model, which has little to say. */
function model(prompt: string): string {
  return `${prompt.trim().split(/\s+/).length} words`
}
