// The words of which names, places and titles are made.

/**
 * Where people live, and how they are called: country, language, cities, postal codes, streets, first and last names.
 * A # is a digit. Last names are those that do not depend on gender.
 */
export const countries = `
Portugal | pt | Lisboa, Porto, Coimbra, Évora | ####-### | Rua da Alegria #, Largo do Carmo ## | Inês, João, Beatriz, Tomás, Leonor, Rúben, Mafalda, Duarte | Carvalho, Magalhães, Conceição, Simões, Leitão, Araújo, Falcão, Guimarães
Brazil | pt | São Paulo, Belém, Salvador, Florianópolis | #####-### | Rua das Acácias ###, Avenida São João ## | Thaís, Caio, Luíza, Otávio, Conceição, Vinícius, Débora, Ícaro | Assunção, Galvão, Brandão, Paixão, Sampaio, Nogueira, Peixoto, Gusmão
France | fr | Lyon, Orléans, Besançon, Saint-Étienne | ##### | ## rue des Lilas, # quai Saint-Antoine | Anaïs, Gaël, Chloé, Théo, Hélène, Loïc, Zoé, Rémi | Lefèvre, Béranger, Hervé, Gauthier, Lacroix, Pélissier, Châtelain, Noël
Canada | fr | Montréal, Québec, Trois-Rivières, Gatineau | H#J #K# | ## rue de la Montagne, ### avenue du Parc | Maëlle, Jérôme, Ariane, Étienne, Océane, Félix, Noémie, Léo | Côté, Bélanger, Lévesque, Ouellet, Thériault, Desjardins, Létourneau, Gagné
Spain | es | Málaga, Cádiz, A Coruña, León | ##### | Calle del Ángel #, Paseo de la Concepción ## | Lucía, Íñigo, Begoña, Andrés, Rocío, Adrián, Noelia, Joaquín | Ibáñez, Núñez, Gálvez, Ordóñez, Sáez, Muñoz, Cárdenas, Peña
Mexico | es | Mérida, Querétaro, Mazatlán, Oaxaca | ##### | Calle Cuauhtémoc ##, Callejón del Músico # | Ximena, Héctor, Sofía, Óscar, Itzel, Ramón, Belén, Julián | Zúñiga, Cervantes, Bermúdez, Lozano, Ávila, Quiñones, Solís, Treviño
Argentina | es | Córdoba, Tucumán, Neuquén, Rosario | C####ABC | Avenida Corrientes ####, Pasaje Güemes ## | Malén, Nicolás, Agustina, Tomás, Pía, Lautaro, Ámbar, Joaquín | Giménez, Bianchi, Ocampo, Larreta, Benítez, Roldán, Acuña, Sosa
Germany | de | Köln, Nürnberg, Lübeck, Görlitz | ##### | Mühlenstraße ##, Am Schloßgarten # | Jürgen, Käthe, Björn, Änne, Sören, Jule, Götz, Frauke | Müller, Schröder, Böhm, Weiß, Köhler, Schäfer, Vogt, Jäger
Austria | de | Wien, Graz, Sankt Pölten, Dürnstein | #### | Währinger Straße ##, Färbergasse # | Jörg, Zäzilia, Günther, Lotte, Ägid, Resi, Vinzenz, Marlene | Gruber, Höller, Hötzendorf, Pöll, Wögerbauer, Steinböck, Moser, Lässer
Italy | it | Forlì, Cefalù, Bologna, Torino | ##### | Via della Libertà ##, Piazza San Nicolò # | Niccolò, Giulia, Noè, Chiara, Totò, Elettra, Dario, Serafina | Dalmasso, Nardò, Cantù, Scirè, Bonfà, Mulè, Calabrò, Paternò
Sweden | sv | Malmö, Göteborg, Umeå, Västerås | ### ## | Ängsvägen ##, Södra Hamngatan # | Åsa, Björn, Märta, Göran, Elin, Jonas, Östen, Frida | Lindqvist, Öberg, Åkesson, Sjöström, Nyström, Hägg, Löfgren, Bäck
Denmark | en | København, Aarhus, Ærøskøbing, Helsingør | #### | Sønder Boulevard ##, Nørregade # | Søren, Åse, Jørgen, Bodil, Mette, Signe, Bjørn, Freja | Nørgaard, Kjær, Østergaard, Bøgh, Lærke, Holm, Skovsø, Dahl
Iceland | en | Reykjavík, Akureyri, Ísafjörður, Höfn | ### | Laugavegur ##, Þingholtsstræti # | Þórdís, Ævar, Sólveig, Össur, Guðrún, Kári, Hrafnhildur, Máni | Blöndal, Thorlacius, Hafstein, Briem, Thoroddsen, Möller, Kvaran, Nordal
Poland | en | Łódź, Kraków, Gdańsk, Wrocław | ##-### | ulica Świętego Ducha #, aleja Róż ## | Zofia, Łukasz, Małgorzata, Paweł, Bożena, Stanisław, Róża, Michał | Wójcik, Woźniak, Kaczmarek, Król, Dąbek, Gołąb, Zając, Nowak
Czechia | en | Plzeň, Brno, České Budějovice, Třebíč | ### ## | Dlážděná ##, Nábřeží Míru # | Pavel, Zdeňka, Ondřej, Šárka, Jiří, Božena, Luděk, Anežka | Krejčí, Martinů, Janů, Kočí, Petrů, Hájků, Jirků, Pavlů
Hungary | en | Győr, Pécs, Budapest, Kőszeg | #### | Fő utca ##, Vörösmarty tér # | Ágnes, Gergő, Réka, Bálint, Zsófia, Dömötör, Csilla, Örs | Szűcs, Kövér, Kőműves, Lőrincz, Sárközi, Fülöp, Tőke, Győri
Türkiye | en | İzmir, Muğla, Eskişehir, Beyoğlu | ##### | Çınar Sokağı ##, İstiklâl Caddesi ### | Ayşe, Çağrı, Gülşen, Ömer, İpek, Şahin, Özge, Tuğrul | Yıldız, Çelik, Öztürk, Güneş, Şimşek, Kılıç, Ünal, Doğan
Ireland | en | Dún Laoghaire, Galway, Cork, Sligo | D## X## | ## Ó Connell Street, # Quay Lane | Aoife, Cillian, Sinéad, Oisín, Róisín, Tadhg, Gráinne, Eoghan | Ó Briain, Brannagh, Kinsella, Devlin, Ó Sé, Corrigan, Tierney, Mac Mathúna
United Kingdom | en | Bristol, Leeds, Glasgow, Brighton | BS# #QT | ## Harbour Road, # Chapel Row | Imogen, Rhys, Siân, Alfie, Nia, Callum, Zoë, Idris | Ashworth, Pemberton, Llewellyn, Okafor, Mackie, Thorne, Sharma, Whitlock
United States | en | Portland, Austin, San José, Minneapolis | ##### | ### Cypress Street, ## Alameda Avenue | Renée, Marcus, Chloë, Andre, Lucía, Wesley, Noa, Desmond | Beauchamp, Delgado, Whitfield, Nakamura, Hollis, Peña, Rourke, Abernathy
`
  .trim()
  .split('\n')
  .map((line) => {
    const cells = line.split(' | ');
    const [cities, streets, first, last] = [2, 4, 5, 6].map((at) => cells[at].split(', '));
    const [name, language, , postalCode] = cells;
    return { name, language, cities, postalCode, streets, first, last };
  });

/** In each language what a title begins with, what may follow, and names of bands. */
export const languages = {
  en: language(
    'Paper Lanterns|Northern Lights|The Long Way|Salt and Honey|Empty Stations|Blue Hour|Your Other Name|Slow Machines|A Room|Half the Moon|Letters|Glass Mountains|The Quiet Car|Borrowed Time|Wild Geese|Copper Rain|Small Hours|Kites|Ghost Notes|The Lighthouse|Second Summer|Nothing New|All My Rivers|Satellites|Velvet Morning|Good Bones|Ordinary Saints|The Last Tram|Sparrows|Tidal',
    'by the Sea|After Midnight|(Reprise)|for Eleanor|Without You|in November|on the Radio|of Home|Again|in Reverse|and No Sleep|Between Us|at Dawn|over Reykjavík|on the Way Back|and the Rain|Under Glass|Before the Snow|in Three Colours|for Nobody',
    'The Velvet Foxes|Paper Harbour|Northbound Choir|Iron Lilies|Saint Atlas|The Midnight Post|Hollow Pines|Kite Season|Copperfield Road|The Small Hours|Marble & Rye|Tidewater Union|Ghost Orchard|Lanterns|The Quiet Engines|Nine Swans|Winter Static|Golden Ledger|Slow Parade|The Borrowed Suits|Ninth Ward Brass|Echo Park Sisters|Wren & Raven|Low Cathedral',
  ),
  fr: language(
    'La nuit|Un été|Ton ombre|Les étoiles|Le fleuve|Mes vingt ans|Rue déserte|L’été dernier|Une lettre|Le manège|Tes yeux fermés|Les forêts|Un café noir|L’île bleue|La fenêtre|Chère Hélène|Le dernier métro|Cœur léger|Août|Les cerfs-volants',
    'sans toi|à Marseille|de février|qui s’éveille|et la mer|d’autrefois|sous la pluie|trop tard|près du canal|s’en va|à peine|en noir et blanc|côté jardin|jusqu’au matin|pour rien|de l’autre côté',
    'Café Minuit|Les Éphémères|Fenêtre sur Cour|Étoile Filante|Le Grand Détour|Mademoiselle Été|Chœur de l’Île|Orage d’Août|Les Frères Pélican|Garçon Manqué',
  ),
  es: language(
    'La noche|Mañana|Tu canción|El corazón|Un año|Caminos|La niña|Desvelo|El último tren|Río abajo|Cenizas|La azotea|Siempre|Madrugada|Espejos|El jardín|Ojos de miel|Volverás|Sal y limón|Cigüeñas',
    'sin ti|en Málaga|del sur|que se fue|y después|de septiembre|otra vez|en silencio|bajo la lluvia|de un sueño|hacia el mar|en la esquina|y nada más|del corazón|a medianoche|que no volvió',
    'Los Niños del Mar|Café Colón|La Última Función|Jardín Eléctrico|Pájaros Añil|Trío Azafrán|Señor Otoño|Las Cigüeñas|Sábado Inglés|El Año Bisiesto',
  ),
  pt: language(
    'A canção|Amanhã|Teu coração|Saudade|O último verão|Manhã|Maré|Lisboa|Chão|A solidão|Coração|Ilusão|O avião|Três pássaros|São João|Alecrim|O jardim|Samba|Luz|Violão',
    'de ninguém|sem você|à beira-mar|do meu avô|que ficou|em maio|e mais nada|de manhã|de madrugada|outra vez|do lado de lá|no coração|para a Inês|ao pôr do sol|de São Paulo|que não há',
    'Os Sábados|Maré Cheia|Trio Açafrão|Banda do Cais|Coração de Papel|Avó Celeste|Manhã de Junho|Os Irmãos Solidão',
  ),
  de: language(
    'Die Nacht|Frühling|Dein Schatten|Über Dächern|Das Gespräch|Grüne Tür|Ein Sommer|Später|Möwen|Der letzte Zug|Schöne Grüße|Herbstlied|Die Brücke|Kühle Luft|Stille|Kein Märchen|Der Fluss|Fünf Minuten|Mondsüchtig|Glühwürmchen',
    'ohne dich|am Wannsee|im März|und zurück|für Käthe|gehört uns|vor dem Regen|bis morgen früh|in Grau|an der Spree|mit dir|über Köln|nach Mitternacht|zum Abschied|auf Zehenspitzen|überall',
    'Möwenflug|Kapelle Süd|Das Grüne Zimmer|Fräulein Sturm|Königskinder|Die Höflichen|Nachtbus|Blütezeit|Größenwahn & Söhne|Ensemble Dämmerung',
  ),
  it: language(
    'La notte|L’estate|Il tuo nome|Città|Più lontano|Lettera|Domenica|La verità|Un caffè|Ombre|Il mare|Perché|Lunedì|Fiori|La felicità|Balcone|Il treno|Mezzogiorno|Stelle|Così',
    'senza di te|di maggio|sul mare|che verrà|per Niccolò|e poi|a metà|in città|più o meno|di sera|è finita|della libertà|fino a lunedì|nel blu|sotto casa|che non c’è',
    'I Lunedì|Caffè Elettrico|Città Aperta|La Felicità|Orchestra Più Sette|Gli Aironi|Già Domani',
  ),
  sv: language(
    'Natten|En sommar|Ditt hjärta|Norrsken|Öppet hav|Fåglar|Snö|Sista tåget|Den långa vägen|Hösten|Ett löfte|Hemåt|Ängen|Måne|Tystnad|Låt mig|Björkar|Skärgård|Vår|Ljuset',
    'utan dig|i Malmö|i februari|som försvann|och havet|igen|på väg|över fjället|före gryningen|till Märta|under isen|som förr|långt bort|i gråa färger|vid sjön|när du går',
    'Norrskenet|Östra Station|Vita Nätter|Systrarna Ål|Sju Björkar|Håll Mörkret|Ängsblom',
  ),
};

function language(subjects, tails, bands) {
  const [begins, ends, names] = [subjects, tails, bands].map((text) => text.split('|'));
  return { begins, ends, bands: names };
}

/** Genres: what they sound like (energy, tempo, warmth, dance, mood, voice), and minutes of a track. */
export const genres = [
  { name: 'Rock', sound: [0.8, 0.4, -0.3, 0.1, 0.1, 0.6], minutes: 4 },
  { name: 'Indie', sound: [0.3, 0.2, 0.2, 0.1, -0.1, 0.7], minutes: 4 },
  { name: 'Pop', sound: [0.5, 0.4, 0.1, 0.7, 0.7, 0.9], minutes: 3.4 },
  { name: 'Electronic', sound: [0.6, 0.7, -0.7, 0.9, 0.3, -0.6], minutes: 5.5 },
  { name: 'Jazz', sound: [-0.1, 0.2, 0.8, -0.2, 0.2, -0.7], minutes: 6 },
  { name: 'Bossa nova', sound: [-0.5, 0.1, 0.9, 0.4, 0.6, 0.5], minutes: 3.2 },
  { name: 'Folk', sound: [-0.4, -0.2, 0.9, -0.3, 0, 0.8], minutes: 3.8 },
  { name: 'Chanson', sound: [-0.3, -0.1, 0.7, -0.2, -0.3, 1], minutes: 3.5 },
  { name: 'Classical', sound: [-0.6, -0.3, 0.8, -0.9, -0.2, -0.9], minutes: 8 },
  { name: 'Hip-hop', sound: [0.6, 0, -0.4, 0.8, -0.1, 1], minutes: 3.6 },
  { name: 'Soul', sound: [0.2, -0.1, 0.6, 0.5, 0.4, 0.9], minutes: 4 },
  { name: 'Metal', sound: [1, 0.9, -0.9, -0.5, -0.7, 0.3], minutes: 5 },
  { name: 'Fado', sound: [-0.6, -0.5, 0.8, -0.7, -0.9, 1], minutes: 3.6 },
  { name: 'Ambient', sound: [-0.9, -0.8, 0.1, -0.8, 0, -1], minutes: 7.5 },
  { name: 'Reggae', sound: [0.1, -0.3, 0.5, 0.7, 0.8, 0.6], minutes: 4.2 },
  { name: 'Blues', sound: [0, -0.4, 0.5, -0.1, -0.8, 0.6], minutes: 4.8 },
];

export const mediaTypes = [
  { name: 'MP3 320 kbit/s' },
  { name: 'AAC 256 kbit/s' },
  { name: 'Opus 160 kbit/s' },
  { name: 'FLAC 24 bit' },
];

export const playlists = [
  { name: 'Sunday, slowly', genres: ['Folk', 'Jazz', 'Bossa nova'] },
  { name: 'Café da manhã', genres: ['Bossa nova', 'Fado', 'Jazz'] },
  { name: 'Nuit blanche', genres: ['Electronic', 'Chanson', 'Hip-hop'] },
  { name: 'Zum Kochen', genres: ['Soul', 'Pop', 'Reggae'] },
  { name: 'Fiesta en la azotea', genres: ['Reggae', 'Pop', 'Hip-hop'] },
  { name: 'Deep work', genres: ['Ambient', 'Classical'] },
  { name: 'On the road', genres: ['Rock', 'Indie', 'Blues'] },
  { name: 'Running, 170 bpm', genres: ['Electronic', 'Metal', 'Rock'] },
  { name: 'Rainy evening', genres: ['Blues', 'Indie', 'Ambient'] },
  { name: 'Vår i luften', genres: ['Indie', 'Folk', 'Pop'] },
  { name: 'Slow dancing', genres: ['Soul', 'Jazz'] },
  { name: 'Heavy lifting', genres: ['Metal', 'Hip-hop'] },
  { name: 'Siesta', genres: ['Bossa nova', 'Ambient', 'Folk'] },
  { name: 'Saudade', genres: ['Fado', 'Chanson', 'Blues'] },
  { name: 'Kitchen radio', genres: ['Pop', 'Soul', 'Indie'] },
];
