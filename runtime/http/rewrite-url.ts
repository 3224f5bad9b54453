/** Whether a URL belongs to the protocol; other URLs are the user's. */
export function isBelowRest(url: string): boolean {
  return (
    url.startsWith(root) && (url.length === root.length || '/?#'.includes(url.charAt(root.length)))
  );
}

const root = '/rest';

/**
 * Rewrites a path as clients spell it to the spelling of the routes: `%24` to `$`, and brackets
 * around a key to parentheses (protocol P1.2). The query stays as it is.
 */
export function rewriteUrl(url: string): string {
  if (!isBelowRest(url)) return url;
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (!/[[%]/.test(path)) return url;
  const plain = path
    .replace(/%24/g, '$')
    .replace(/%5B/gi, '[')
    .replace(/%5D/gi, ']')
    .split('/')
    // Behind the dataclass, brackets are for the elements of an array.
    .map((segment, index) => (index === dataclassAt ? withParentheses(segment) : segment))
    .join('/');
  return query === -1 ? plain : plain + url.slice(query);
}

/** The position of the dataclass in `/rest/Employee[12]`. */
const dataclassAt = 2;

/**
 * `Employee[12]` as `Employee(12)`; only the outermost pair, because a key may contain brackets.
 */
function withParentheses(segment: string): string {
  const open = segment.indexOf('[');
  const close = segment.lastIndexOf(']');
  const parenthesis = segment.indexOf('(');
  if (open === -1 || close < open || (parenthesis !== -1 && parenthesis < open)) return segment;
  return `${segment.slice(0, open)}(${segment.slice(open + 1, close)})${segment.slice(close + 1)}`;
}
