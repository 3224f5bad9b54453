// Writes the data of the shop as files for `npm run seed`: the same in every run.
// usage: node write.mjs <folder>
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cover } from './cover.mjs';
import { countries, genres, languages, mediaTypes, playlists } from './words.mjs';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node write.mjs <folder>');
  process.exit(2);
}
const artistCount = 120;
const customerCount = 430;
const lineCount = 8000;
const day = 24 * 60 * 60 * 1000;
const opening = Date.UTC(2021, 0, 4);
const lastDay = Date.UTC(2025, 11, 30);
// Those in Employee.csv.
const agents = [3, 4, 5];
// The number of customers grows a little faster with time.
const comingPower = 0.8;
const random = randomOf(1);

mkdirSync(join(folder, 'covers'), { recursive: true });
const artists = makeArtists();
const albums = artists.flatMap((artist) => artist.albums);
const tracks = albums.flatMap((album) => album.tracks);
writeCatalogue();
writePlaylists();
writeCustomers();
writeInvoices();

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @returns a whole number */
function between(least, most) {
  return least + Math.floor(random() * (most - least + 1));
}

function oneOf(list) {
  return list[between(0, list.length - 1)];
}

/** Draws until a value comes that is not among the others, and adds it. */
function another(others, draw) {
  let value = draw();
  while (others.has(value)) value = draw();
  others.add(value);
  return value;
}

/** The entities of a dataclass, whose keys are 1, 2, 3… */
function write(dataclass, attributes, rows) {
  const lines = rows.map((values, index) => [index + 1, ...values].map(cell).join(','));
  const text = [['ID', ...attributes].join(','), ...lines, ''].join('\n');
  writeFileSync(join(folder, `${dataclass}.csv`), text);
}

function cell(value) {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function dayOf(time) {
  return new Date(time).toISOString().slice(0, 10);
}

function personIn({ first, last }) {
  return `${oneOf(first)} ${oneOf(last)}`;
}

function titleIn({ begins, ends }) {
  return random() < 0.3 ? oneOf(begins) : `${oneOf(begins)} ${oneOf(ends)}`;
}

function makeArtists() {
  const bands = new Map(Object.entries(languages).map(([name, each]) => [name, [...each.bands]]));
  const names = new Set();
  return Array.from({ length: artistCount }, () => {
    const country = oneOf(countries);
    const band = random() < 0.75 ? bands.get(country.language).shift() : undefined;
    const name = band ?? another(names, () => personIn(country));
    const members = band === undefined ? [name] : [personIn(country), personIn(country)];
    const artist = {
      name,
      country,
      members,
      genre: oneOf(genres),
      since: between(1966, 2018),
    };
    artist.albums = makeAlbums(artist);
    return artist;
  });
}

function makeAlbums(artist) {
  const language = languages[artist.country.language];
  const titles = new Set();
  let year = artist.since;
  return Array.from({ length: between(1, 5) }, () => {
    year = Math.min(year + between(1, 4), 2025);
    const genre = random() < 0.75 ? artist.genre : oneOf(genres);
    const isLive = titles.size > 1 && random() < 0.15;
    const album = {
      artist,
      genre,
      title: another(titles, () =>
        isLive ? `Live in ${oneOf(oneOf(countries).cities)}` : titleIn(language),
      ),
      released: Date.UTC(year, between(0, 11), between(1, 28)),
      mediaType: oneOf(mediaTypes),
      sound: genre.sound.map((value) => value + (random() - 0.5) * 0.5),
    };
    const known = new Set();
    album.tracks = Array.from({ length: between(7, 13) }, (_, index) =>
      makeTrack(album, { position: index + 1, title: another(known, () => titleIn(language)) }),
    );
    return album;
  });
}

function makeTrack(album, named) {
  const { members } = album.artist;
  const seconds = Math.round(album.genre.minutes * 60 * (0.6 + random() * 0.8));
  return {
    ...named,
    album,
    composer: random() < 0.4 ? members.join(', ') : oneOf(members),
    length: seconds * 1000,
    price: priceOf(album.released, seconds),
    sound: album.sound.map((value) => {
      const own = Math.max(-1, Math.min(1, value + (random() - 0.5) * 0.4));
      return Math.round(own * 1000) / 1000;
    }),
  };
}

function priceOf(released, seconds) {
  if (seconds > 8 * 60) return '1.79';
  if (released > Date.UTC(2020, 0)) return '1.29';
  return released < Date.UTC(1990, 0) ? '0.69' : '0.99';
}

function writeCatalogue() {
  const nameOf = ({ name }) => [name];
  write('Genre', ['name'], genres.map(nameOf));
  write('MediaType', ['name'], mediaTypes.map(nameOf));
  write(
    'Artist',
    ['name', 'country', 'since'],
    artists.map(({ name, country, since }) => [name, country.name, since]),
  );
  write(
    'Album',
    ['title', 'cover', 'artist', 'released'],
    albums.map(({ title, artist, released }, index) => {
      const file = `covers/${index + 1}.png`;
      writeFileSync(join(folder, file), cover(random));
      return [title, file, keyIn(artists, artist), dayOf(released)];
    }),
  );
  write(
    'Track',
    ['title', 'position', 'album', 'genre', 'mediaType', 'composer', 'length', 'price', 'sound'],
    tracks.map(({ title, position, album, composer, length, price, sound }) => [
      title,
      position,
      keyIn(albums, album),
      keyIn(genres, album.genre),
      keyIn(mediaTypes, album.mediaType),
      composer,
      length,
      price,
      JSON.stringify(sound),
    ]),
  );
}

function keyIn(list, item) {
  return list.indexOf(item) + 1;
}

function writePlaylists() {
  write(
    'Playlist',
    ['name'],
    playlists.map(({ name }) => [name]),
  );
  const entries = playlists.flatMap((playlist, index) => {
    const fitting = tracks.filter(({ album }) => playlist.genres.includes(album.genre.name));
    const chosen = new Set();
    return Array.from({ length: between(25, 70) }, (_, at) => {
      const track = another(chosen, () => oneOf(fitting));
      return [index + 1, at + 1, keyIn(tracks, track)];
    });
  });
  write('PlaylistEntry', ['playlist', 'position', 'track'], entries);
}

function writeCustomers() {
  const names = new Set();
  const customers = Array.from({ length: customerCount }, (_, index) => {
    const country = oneOf(countries);
    const name = another(names, () => personIn(country));
    const [first, ...last] = name.split(' ');
    const mailHost = oneOf(['example.com', 'example.org', 'mail.example']);
    return [
      first,
      last.join(' '),
      `${plain(first)}.${plain(last.join(''))}@${mailHost}`,
      withDigits(oneOf(country.streets)),
      withDigits(country.postalCode),
      oneOf(country.cities),
      country.name,
      dayOf(opening + (index / customerCount) ** comingPower * (lastDay - opening)),
      oneOf(agents),
    ];
  });
  const address = ['street', 'postalCode', 'city', 'country'];
  write('Customer', ['firstName', 'lastName', 'email', ...address, 'since', 'agent'], customers);
}

/** Letters that addresses of mails have. */
function plain(name) {
  const letters = { ø: 'o', æ: 'ae', ð: 'd', þ: 'th', ł: 'l', ı: 'i', ß: 'ss' };
  return name
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/[^a-z]/gu, (letter) => letters[letter] ?? '');
}

function withDigits(pattern) {
  return pattern.replaceAll(/#+/g, ({ length }) =>
    String(between(10 ** (length - 1), 10 ** length - 1)),
  );
}

function writeInvoices() {
  const invoices = [];
  const lines = [];
  while (lines.length < lineCount) {
    // Sales grow.
    const part = (lines.length / lineCount) ** 0.7;
    const time = opening + part * (lastDay - opening);
    // Of those who have come already, some buy more often.
    const present = Math.ceil(customerCount * part ** (1 / comingPower));
    const customer = Math.max(1, Math.ceil(present * random() ** 1.4));
    const isNew = lastDay - time < 14 * day && random() < 0.7;
    invoices.push([dayOf(time), customer, isNew ? 'open' : random() < 0.02 ? 'refunded' : 'paid']);
    const bought = new Set();
    for (let left = Math.min(between(1, 9), lineCount - lines.length); left > 0; left -= 1) {
      const at = another(bought, popularTrack);
      const quantity = random() < 0.06 ? between(2, 4) : 1;
      lines.push([invoices.length, at + 1, tracks[at].price, quantity]);
    }
  }
  write('Invoice', ['date', 'customer', 'state'], invoices);
  write('InvoiceLine', ['invoice', 'track', 'unitPrice', 'quantity'], lines);
}

/** Few tracks sell much. The prime spreads them over the catalogue. */
function popularTrack() {
  return (Math.floor(random() ** 2.2 * tracks.length) * 7919) % tracks.length;
}
