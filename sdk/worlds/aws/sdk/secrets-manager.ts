/** For `import()`: what is named here is all that a bundle takes of the package. */
export { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
