// The model of the bench, as SAP CAP says it: ../model.yaml.
entity Company {
  key ID : Integer; name : String; city : String; country : String; founded : Date; revenue : Double; active : Boolean;
  modifiedAt : Timestamp @cds.on.insert: $now @cds.on.update: $now;
  staff : Association to many Employee on staff.employer = $self;
}
entity Employee {
  key ID : Integer; firstName : String; lastName : String; email : String; birthDate : Date; hiredAt : Timestamp;
  salary : Double; active : Boolean; city : String; jobTitle : String; score : Integer;
  modifiedAt : Timestamp @odata.etag @cds.on.insert: $now @cds.on.update: $now;
  employer : Association to Company; manager : Association to Employee;
}
@protocol: ['odata', 'rest'] service Bench {
  entity Companies as projection on Company;
  entity Employees as projection on Employee;
}
