/** What `overwinter conformance` starts on a server to see whether it keeps to the workers' protocol. */
export { conformance } from '../cli/conformance/workflow.ts'
