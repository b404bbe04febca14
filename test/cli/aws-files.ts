import { Project } from './fixture.ts'

/** AWS's own files, with two profiles, and nothing of the machine's. */
export class AwsFiles extends Project {
  readonly env: Record<string, string | undefined>

  constructor() {
    super({
      credentials: `[default]\naws_access_key_id = AKIDDEFAULT\naws_secret_access_key = default-secret\n[shop]\naws_access_key_id = AKIDSHOP\naws_secret_access_key = shop-secret\n`,
      config: '[default]\nregion = eu-west-1\n[profile shop]\nregion = eu-north-1\n',
    })
    this.env = {
      ...NOBODY,
      AWS_SHARED_CREDENTIALS_FILE: this.path('credentials'),
      AWS_CONFIG_FILE: this.path('config'),
    }
  }
}

/** No credentials from anywhere. */
export const NOBODY = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_DEFAULT_REGION: undefined,
  AWS_ENDPOINT_URL: undefined,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_CONFIG_FILE: '/dev/null',
}
