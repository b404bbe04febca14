/**
 * Stands in for the cache in which the SDK would keep endpoints that a service names, by an alias of the bundler. For
 * DynamoDB that is off unless somebody asks for it, and the package behind it is seven kilobytes.
 */
export default class EndpointCache<K, V> extends Map<K, V> {
  /** The SDK says how much it may hold. */
  constructor(_capacity: number) {
    super()
  }
}
