/** As CloudFormation has it in a template. */
export interface Statement {
  Effect: 'Allow' | 'Deny'
  Action: string | string[]
  Resource: unknown
}

/** IAM's decision: a Deny wins, and what no statement allows is refused. */
export function isAllowed(statements: readonly Statement[], action: string, arn: string): boolean {
  const fitting = statements.filter(
    ({ Action, Resource }) =>
      [Action].flat().some((pattern) => fits(pattern, action)) &&
      [Resource].flat().some((resource) => fits(textOf(resource), arn)),
  )
  return fitting.some(({ Effect }) => Effect === 'Allow') && !fitting.some(({ Effect }) => Effect === 'Deny')
}

/** `*` is any number of characters and `?` is one; both take `/` too. */
function fits(pattern: string, text: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text)
}

/** An ARN with the template's references by their names: `arn:aws:execute-api:…:MyApi/…`. */
export function textOf(resource: unknown): string {
  if (typeof resource === 'string') return resource
  const { Ref, 'Fn::Join': join } = resource as { Ref?: string; 'Fn::Join'?: [string, unknown[]] }
  if (Ref !== undefined) return Ref === 'AWS::Partition' ? 'aws' : Ref
  if (join) return join[1].map(textOf).join(join[0])
  throw new Error(`this is no ARN that the tests can read: ${JSON.stringify(resource)}`)
}
