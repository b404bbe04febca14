import { define, handler } from 'overwinter/definitions'
import campaign from './drip-campaign.json' with { type: 'json' }

/**
 * A stand-in for a mail service, which recognises a repeated request by its key. Stored definitions may call
 * it too.
 */
export const sendEmail = handler('sendEmail', ({ config, idempotencyKey }) => {
  const { template } = config as { template: string }
  return `${template} (${idempotencyKey.split('/').at(-1)})`
})

/** A letter, two days without one, another letter: a workflow that is nothing but JSON. */
export const dripCampaign = define(campaign, { handlers: [sendEmail] })
