import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SignedFetch } from '../sdk/worlds/aws/signed-fetch.ts'
import { readSecrets, type SecretPlaces } from './secret-values.ts'

/**
 * Whoever imports this first has the secrets in `process.env` before anything else is loaded: in a bundle, modules are
 * evaluated one after the other, and what comes later waits.
 */
const places = process.env.OVERWINTER_SECRETS
if (places)
  Object.assign(
    process.env,
    await readSecrets(new SignedFetch(new DynamoDBClient()), JSON.parse(places) as SecretPlaces),
  )
