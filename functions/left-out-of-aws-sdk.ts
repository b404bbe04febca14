/**
 * Stands in for parts of the AWS SDK, so that the bundles are 30 KB smaller: what reads streams of events, which none
 * of the services used here has; DynamoDB's discovery of endpoints, which is off unless somebody asks for it; and a store of
 * its own for what belongs to one invocation, where Lambda has not made one: the trace is in the environment then.
 */

export const InvokeStore = {
  getInstanceAsync: async (): Promise<unknown> => (globalThis as { awslambda?: { InvokeStore?: unknown } }).awslambda?.InvokeStore,
}

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
