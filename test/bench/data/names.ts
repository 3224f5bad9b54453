const starts = 'Bel Cor Dun Est Fal Gar Hol Kir Lan Mar'.split(' ');
const ends = 'ford,ville,münde,stad,ñera,burgh,owice,ham,søy,ton'.split(',');

/** A hundred cities, some of which are not ASCII. */
export const cities: readonly string[] = starts.flatMap((start) => ends.map((end) => start + end));

export const countries = 'Austria,Brasil,Česko,Danmark,España,France,India,日本,Norge'.split(',');

export const firstNames =
  'Ada,Björn,Chloé,Dario,Elif,Femi,Grace,Hiro,Ines,Jürgen,Kofi,Lena,Milos,Noor,Olga,Priya,Quinn,Rosa,Sam,Tomás'.split(
    ',',
  );

export const jobTitles =
  'Engineer,Senior engineer,Designer,Manager,Assistant,Analyst,Writer,Technician,Accountant'.split(
    ',',
  );

const beginnings = 'Al,Bran,Car,Dor,El,Fen,Gor,Har,Is,Jor,Kel,Lun,Mor,Nes,Öst,Per,Ros,Sten'.split(
  ',',
);
const middles = 'a,be,di,go,ka,li,mo,na,ri,sa,to,ve'.split(',');
const endings = 'berg,dale,feld,holm,kov,lund,man,ner,rød,son,ström,ton,vic,well,wood,ząb'.split(
  ',',
);

/** Some thousand surnames, so that an order by them has few ties. */
export const lastNames: readonly string[] = beginnings.flatMap((first) =>
  middles.flatMap((middle) => endings.map((last) => first + middle + last)),
);

/** Characters that JSON must escape; one name in a hundred contains them. */
export const awkwardEndings = [' "Jr."', ' \\ Partner', '\ttabbed', '\nsecond line', ' \u0001'];
