import { delimiter } from 'node:path'

/** Variables that say how the tests were started, or what somebody works on in the same terminal. What is tested must not see them. */
const NOT_OURS = [
  /^(AWS|OVERWINTER|GIT|VITEST|VITE)_/,
  /^npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix)/,
  /^(PORT|CI|NODE_OPTIONS|NODE_PATH|NODE_ENV|FORCE_COLOR|NO_COLOR|COLUMNS|INIT_CWD|VITEST|TEST|MODE|DEV|PROD|SSR|BASE_URL)$/,
]

/** No credentials from anywhere on this machine, nor from the one it may run on. */
export const NO_AWS = {
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_CONFIG_FILE: '/dev/null',
}

/** What is in npm's cache is not asked for again, and what is not does not fail at the first hiccup of the network. */
const PATIENT_NPM = {
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
  npm_config_fetch_retries: '6',
}

/** What a user's terminal would have. */
export function outerEnvironment(of: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.entries(of).filter(([name]) => isKept(name))
  const PATH = of.PATH?.split(delimiter).filter((folder) => !folder.endsWith('node_modules/.bin'))
  const NO_PROXY = ['localhost', '127.0.0.1', ...(of.NO_PROXY ? [of.NO_PROXY] : [])].join(',')
  return {
    ...Object.fromEntries(kept),
    ...NO_AWS,
    ...PATIENT_NPM,
    NO_PROXY,
    no_proxy: NO_PROXY,
    ...(PATH && { PATH: PATH.join(delimiter) }),
  }
}

export const isKept = (name: string): boolean => !NOT_OURS.some((pattern) => pattern.test(name))
