import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';

/** Cost of new hashes: 16 MiB of memory and some hundredths of a second each. */
const cost = { N: 2 ** 14, r: 8, p: 5 };
const hashLength = 32;
/** Stored parameters beyond this are refused, so that a row of a table cannot stop the server. */
const mostMemory = 256 * 1024 * 1024;

/**
 * @returns `scrypt$N$r$p$<salt>$<hash>`: with its parameters, so that new passwords can be hashed
 * at a higher cost
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derived(password, salt, hashLength, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), hash.toString('base64')].join(
    '$',
  );
}

/**
 * Whether a password matches a hash.
 * @param stored as {@link hashPassword} made it; `undefined` if there is no such user: it takes as
 * long
 */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, N, r, p, salt, hash] =
    /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/.exec(stored ?? '') ?? [];
  if (salt === undefined || hash === undefined) {
    await derived(password, Buffer.alloc(16), hashLength, cost);
    return false;
  }
  const wanted = Buffer.from(hash, 'base64');
  const parameters = { N: Number(N), r: Number(r), p: Number(p) };
  const found = await derived(password, Buffer.from(salt, 'base64'), wanted.length, parameters);
  return timingSafeEqual(found, wanted);
}

/** Derives a key from a password, which is normalized first: a letter may be typed as different code points. */
function derived(
  password: string,
  salt: Buffer,
  length: number,
  parameters: ScryptOptions,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { ...parameters, maxmem: mostMemory };
    scrypt(password.normalize('NFKC'), salt, length, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
