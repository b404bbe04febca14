import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SignedFetch } from '../sdk/worlds/aws/signed-fetch.ts'
import { readSecrets, type SecretPlaces } from './secret-values.ts'

/**
 * Import this first: it sets the secrets in `process.env` before any other module is loaded. A bundle
 * evaluates its modules in order, and later ones wait.
 */
const places = process.env.OVERWINTER_SECRETS
if (places)
  Object.assign(
    process.env,
    await readSecrets(new SignedFetch(new DynamoDBClient()), JSON.parse(places) as SecretPlaces),
  )
