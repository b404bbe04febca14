/**
 * Stands in for two parts of the AWS SDK, so that the bundles are 28 KB smaller: what reads streams of events, which none
 * of the services used here has, and DynamoDB's discovery of endpoints, which is off unless somebody asks for it.
 */

export class EventStreamSerde {
  constructor() {
    throw new Error('streams of events were left out of this bundle')
  }
}

export const resolveEndpointDiscoveryConfig = <C>(config: C): C => config

/** How the SDK asks whether it is wanted: not by the environment, not by a file, and not otherwise. */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: undefined,
}
