/**
 * Stands in for the SDK's search for credentials, by an alias of the bundler. In Lambda they are always in the
 * environment; the other places where the SDK would look are an eighth of the bundle, and of the cold start.
 */
export function defaultProvider() {
  return async () => ({
    accessKeyId: process.env.AWS_ACCESS_KEY_ID!,
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY!,
    ...(process.env.AWS_SESSION_TOKEN && { sessionToken: process.env.AWS_SESSION_TOKEN }),
  })
}
