import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { isExpressionWithTypeArguments, isTypeReferenceNode } from 'typescript/unstable/ast/is'

/** A schema spelt out as the type of a constant is longer than the schema, and says less. */
const LONGEST_CONST = 1_000

/** `const` is declared in a list in a statement. */
export function statementOf(node: Node): Node {
  return node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node
}

/** The declaration without its private parts. */
export function codeOf(node: Node, { withComment }: { withComment: boolean }): string {
  const { text } = node.getSourceFile()
  let code = ''
  let at = node.getStart(undefined, withComment)
  for (const member of privateMembers(node)) {
    code += text.slice(at, member.pos)
    at = member.end
  }
  code += text.slice(at, node.end)
  if (node.kind === SyntaxKind.VariableStatement && code.length > LONGEST_CONST) code = code.replace(/<[\s\S]*>/, '<…>')
  return code
    .replaceAll(/^(export )?(declare )?/gm, '')
    .replaceAll(/^( {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2))
}

/** The names of the types that it mentions. */
export function mentionsOf(node: Node): Node[] {
  const hidden = new Set(privateMembers(node))
  const names: Node[] = []
  const visit = (each: Node) => {
    if (hidden.has(each)) return
    if (isTypeReferenceNode(each)) names.push(each.typeName)
    if (isExpressionWithTypeArguments(each)) names.push(each.expression)
    each.forEachChild(visit)
  }
  visit(node)
  return names
}

function privateMembers(node: Node): Node[] {
  const members: Node[] = []
  if (node.kind !== SyntaxKind.ClassDeclaration) return members
  node.forEachChild((member) => {
    if (/^(#|private\b)/.test(member.getText())) members.push(member)
  })
  return members
}
