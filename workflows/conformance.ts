/** `overwinter conformance` starts this on a server, to check that the server follows the workers' protocol. */
export { conformance } from '../cli/conformance/workflow.ts'
